import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type Clock, sleep } from '#base/clock.ts';

/** Short tasks end by themselves in this time. What still runs then is ended on its host, and looked at as often. */
const PATIENCE_MS = 2_000;
/** Ansible is ended after this, whatever it waits for: a report in time says more than none. */
const LIMIT_MS = 45_000;

/** How far a playbook has come. */
export interface Progress {
  /** The play under way. */
  play: string;
  /** The task that runs on each host. */
  busy: ReadonlyMap<string, string>;
}

export interface BrakeOptions {
  /** Aborts when the operation is cancelled. */
  cancelled: AbortSignal;
  /** Aborts when the playbook has ended. */
  ended: AbortSignal;
  /** No task is started once this file is there (ansible/plugins/strategy/waves.py). */
  stopFile: string;
  /** Plays that are finished first. */
  uncut: ReadonlySet<string>;
  progress: Progress;
  /** Ends what runs on these hosts, unless it is protected there. Never rejects. */
  cutOff(ips: readonly string[]): Promise<void>;
  /** Ends Ansible itself. */
  giveUp(): void;
  clock: Clock;
}

/**
 * Brings a cancelled playbook to its end: no further task is started, those that run are awaited for some seconds, then
 * ended on their hosts. Resolves when the playbook has ended, or is given up.
 */
export async function brake(options: BrakeOptions): Promise<void> {
  const { cancelled, ended, stopFile, uncut, progress, cutOff, giveUp, clock } = options;
  try {
    if (!cancelled.aborted) await once(cancelled, 'abort', { signal: ended });
    writeFileSync(stopFile, '');
    const sinceMs = clock.monotonicMs();
    for (;;) {
      await sleep(PATIENCE_MS, ended, clock);
      if (uncut.has(progress.play)) continue;
      if (clock.monotonicMs() - sinceMs >= LIMIT_MS) return giveUp();
      await cutOff([...progress.busy.keys()]);
    }
  } catch (error) {
    if (!ended.aborted) throw error;
  }
}
