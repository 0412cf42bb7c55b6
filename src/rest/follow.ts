import { sleep } from '#base/clock.ts';
import { BROKEN_OFF, type LogEnd } from './read-routes.ts';

const PAUSE_MS = 1_000;
/** Maximum number of consecutive attempts without a new line. */
const TRIES = 60;

export interface FollowOptions {
  pauseMs?: number;
  /** Called once for each interruption, before the next attempt. */
  onInterrupted?: (() => void) | undefined;
}

/** Answer that another attempt would not change. */
export class NotFollowed extends Error {}

/**
 * Follows a log through restarts of its servers. `read` reads the log once, from its beginning, and returns its end if the
 * server sent that outside the text. Lines that were already read are skipped, unless the log belongs to another operation
 * by now. Rejects if the log is not available, or `signal` aborts.
 */
export async function follow(
  read: (onLine: (line: string) => void) => Promise<LogEnd | undefined>,
  onLine: (line: string) => void,
  signal: AbortSignal,
  { pauseMs = PAUSE_MS, onInterrupted = () => {} }: FollowOptions = {},
): Promise<void> {
  const reported: string[] = [];
  let tries = 0;
  for (;;) {
    let at = 0;
    let last: string | undefined;
    let why: unknown;
    const report = (line: string): void => {
      if (reported[at] !== line) {
        reported.splice(at, reported.length, line);
        tries = 0;
        onLine(line);
      }
      at += 1;
    };
    try {
      const end = await read((line) => {
        if (last !== undefined) report(last);
        last = undefined;
        // Only the last line can mean that the log breaks off.
        if (line === BROKEN_OFF) last = line;
        else report(line);
      });
      const isBroken = end === undefined ? last === BROKEN_OFF : end === 'broken-off';
      if (!isBroken && last !== undefined) report(last);
      if (!isBroken) return;
      why = new Error('the log breaks off');
    } catch (error) {
      why = error;
    }
    signal.throwIfAborted();
    tries += 1;
    // If reading never began, the cause is not a restart.
    if (why instanceof NotFollowed || reported.length === 0 || tries > TRIES) throw why;
    if (tries === 1) onInterrupted();
    await sleep(pauseMs, signal);
  }
}
