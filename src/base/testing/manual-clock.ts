import type { Clock } from '../clock.ts';

/** Clock for tests, which stands still until the test moves it. */
export interface ManualClock extends Clock {
  /** Advances the time, runs due timers in order, and waits for promises after each. */
  advance(ms: number): Promise<void>;
  /** Moves the wall time alone, as when a user sets the clock. */
  step(ms: number): void;
  /** Advances the time without running any timer, as when the process was stopped. */
  freeze(ms: number): void;
  readonly timers: number;
}

export function createManualClock(start: Date = new Date('2026-01-01T00:00:00Z')): ManualClock {
  let ms = 0;
  let wall = start.getTime();
  let order = 0;
  const timers = new Map<number, { atMs: number; run: () => void }>();

  return {
    now: () => new Date(wall + ms),
    monotonicMs: () => ms,
    after(delayMs, run) {
      const id = order++;
      timers.set(id, { atMs: ms + Math.max(delayMs, 0), run });
      return () => void timers.delete(id);
    },
    async advance(byMs) {
      const until = ms + byMs;
      await microtasksRun();
      for (;;) {
        const due = [...timers].filter(([, timer]) => timer.atMs <= until);
        due.sort(([a, one], [b, other]) => one.atMs - other.atMs || a - b);
        const [next] = due;
        if (!next) break;
        const [id, { atMs, run }] = next;
        timers.delete(id);
        ms = Math.max(ms, atMs);
        run();
        await microtasksRun();
      }
      ms = Math.max(ms, until);
      await microtasksRun();
    },
    step(byMs) {
      wall += byMs;
    },
    freeze(byMs) {
      ms += byMs;
    },
    get timers() {
      return timers.size;
    },
  };
}

/** Waits long enough for chains of promises without I/O. */
function microtasksRun(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
