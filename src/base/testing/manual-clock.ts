import type { Clock } from '../clock.ts';

/** A clock that stands still until it is told otherwise: for tests. */
export interface ManualClock extends Clock {
  /** Moves on, running what falls due in order, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Wall time alone, as when somebody sets the clock. */
  step(ms: number): void;
  /** Moves on without running any timer, as when the process was stopped. */
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
      await settle();
      for (;;) {
        const due = [...timers].filter(([, timer]) => timer.atMs <= until);
        due.sort(([a, one], [b, other]) => one.atMs - other.atMs || a - b);
        const [next] = due;
        if (!next) break;
        const [id, { atMs, run }] = next;
        timers.delete(id);
        ms = Math.max(ms, atMs);
        run();
        await settle();
      }
      ms = Math.max(ms, until);
      await settle();
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

/** Long enough for chains of promises that do no I/O. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
