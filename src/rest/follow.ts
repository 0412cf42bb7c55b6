import { sleep } from '#base/clock.ts';
import { BROKEN_OFF } from './looking.ts';

const PAUSE_MS = 1_000;
/** Tries in a row that bring nothing new. */
const TRIES = 60;

/** An answer that another try would not change. */
export class NotFollowed extends Error {}

/**
 * Follows a log through restarts of those that serve it. `read` tells it once, from its beginning; what was told before
 * is passed over, unless it is the log of another operation by now. Rejects when the log cannot be had, or `signal`
 * aborts.
 */
export async function follow(
  read: (onLine: (line: string) => void) => Promise<void>,
  onLine: (line: string) => void,
  signal: AbortSignal,
  pauseMs = PAUSE_MS,
): Promise<void> {
  const told: string[] = [];
  let tries = 0;
  for (;;) {
    let at = 0;
    let why: unknown;
    try {
      await read((line) => {
        if (line === BROKEN_OFF) {
          why = new Error('the log breaks off');
          return;
        }
        if (told[at] !== line) {
          told.splice(at, told.length, line);
          tries = 0;
          onLine(line);
        }
        at += 1;
      });
      if (why === undefined) return;
    } catch (error) {
      why = error;
    }
    signal.throwIfAborted();
    tries += 1;
    // What never began has another reason than a restart.
    if (why instanceof NotFollowed || told.length === 0 || tries > TRIES) throw why;
    await sleep(pauseMs, signal);
  }
}
