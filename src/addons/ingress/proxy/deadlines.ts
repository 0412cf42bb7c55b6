import type { Clock } from '#base/clock.ts';

/** What ends when nothing happens to it for too long. */
export interface Timed {
  /** By `Deadlines.nowMs`; Infinity: never. */
  dueMs: number;
  /** Called once due, at each look until it is due no more or has been let go. */
  expire(): void;
}

/** One timer for all connections: they are many, and mostly are not late. */
export interface Deadlines {
  /** The time of the last look. */
  readonly nowMs: number;
  add(one: Timed): void;
  remove(one: Timed): void;
  stop(): void;
}

/** `checkMs`: how exact it is. */
export function createDeadlines(clock: Clock, checkMs = 500): Deadlines {
  const all = new Set<Timed>();
  let nowMs = clock.monotonicMs();
  let cancel = () => {};
  const look = () => {
    nowMs = clock.monotonicMs();
    for (const one of all) if (one.dueMs <= nowMs) one.expire();
    cancel = clock.after(checkMs, look);
  };
  cancel = clock.after(checkMs, look);
  return {
    get nowMs() {
      return nowMs;
    },
    add: (one) => void all.add(one),
    remove: (one) => void all.delete(one),
    stop: () => cancel(),
  };
}
