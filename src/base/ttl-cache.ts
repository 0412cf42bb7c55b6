import type { Clock } from '#base/clock.ts';
import { recentMap } from '#base/recent-map.ts';

/** Cache of results for a short time, by a key that is no secret; at most `size` of them. */
export interface TtlCache<T> {
  /** Returns the cached result, or calls `ask` and caches its result. A rejection is not cached. */
  get(key: string, ask: () => Promise<T>): Promise<T>;
}

/**
 * Creates a cache.
 * @example
 * const users = ttlCache<User>({ clock, forMs: 10_000, size: 1000 });
 * await users.get(hash(token), () => review(token));
 */
export function ttlCache<T>({
  clock,
  forMs,
  size,
}: {
  clock: Clock;
  forMs: number;
  size: number;
}): TtlCache<T> {
  const kept = recentMap<{ untilMs: number; answer: Promise<T> }>(size);
  return {
    get(key, ask) {
      const now = clock.monotonicMs();
      const known = kept.get(key);
      if (known && known.untilMs > now) return known.answer;
      const answer = ask();
      kept.set(key, { untilMs: now + forMs, answer });
      answer.catch(() => {
        if (kept.get(key)?.answer === answer) kept.delete(key);
      });
      return answer;
    },
  };
}
