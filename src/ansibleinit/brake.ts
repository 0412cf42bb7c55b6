import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type Clock, sleep } from '#base/clock.ts';

/**
 * Time in which short tasks end by themselves. After it, a task that still runs is ended on its host; also the interval of
 * checks.
 */
const PATIENCE_MS = 2_000;
/** Time after which Ansible is ended in any case: an incomplete report in time is better than none. */
const LIMIT_MS = 45_000;

/** Progress of a playbook. */
export interface Progress {
  /** Present play. */
  play: string;
  /** Running task of each host. */
  busy: ReadonlyMap<string, string>;
}

export interface BrakeOptions {
  /** Aborts when the operation is cancelled. */
  cancelled: AbortSignal;
  /** Aborts when the playbook has ended. */
  ended: AbortSignal;
  /** File that stops Ansible from starting tasks (ansible/plugins/strategy/waves.py). */
  stopFile: string;
  /** Plays that finish before the stop. */
  uncut: ReadonlySet<string>;
  progress: Progress;
  /** Ends the commands on these hosts, unless they are protected there. Never rejects. */
  cutOff(ips: readonly string[]): Promise<void>;
  /** Ends Ansible itself. */
  giveUp(): void;
  clock: Clock;
}

/**
 * Stops a cancelled playbook: it starts no further task, and running ones get some seconds before they are ended on their
 * hosts. Resolves when the playbook has ended, or is given up.
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
