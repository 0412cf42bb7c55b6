import { type Clock, systemClock } from '#base/clock.ts';

/** Event to report about an object. */
export interface News {
  /** Unique key of the object, such as its uid. */
  about: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Event to write: `key` is the same for occurrences that form one Event, `count` is their number. */
export interface Correlated {
  key: string;
  message: string;
  count: number;
  firstMs: number;
}

export interface CorrelatorOptions {
  clock?: Clock | undefined;
  /** Number of events within `windowMs` that differ only in their message, before they become one Event. Default 10. */
  maxAlike?: number | undefined;
  windowMs?: number | undefined;
  /** Number of events at once about one object for one reason; then one each `refillMs`. Default 25 and 300,000. */
  burst?: number | undefined;
  refillMs?: number | undefined;
  /** Number of remembered objects and Events. Default 4,096. */
  memory?: number | undefined;
}

/**
 * Keeps Events from flooding: returns undefined if nothing should be written. Source: client-go tools/record/events_cache.go
 * (EventSourceObjectSpamFilter, EventAggregator, eventLogger).
 */
export function createCorrelator(options: CorrelatorOptions = {}): (news: News) => Correlated | undefined {
  const { clock = systemClock, maxAlike = 10, windowMs = 600_000 } = options;
  const { burst = 25, refillMs = 300_000, memory = 4096 } = options;
  const buckets = recent<{ tokens: number; atMs: number }>(memory);
  const alike = recent<{ messages: Set<string>; lastMs: number }>(memory);
  const written = recent<{ count: number; firstMs: number }>(memory);

  return ({ about, type, reason, message }) => {
    const now = clock.monotonicMs();
    // The limit is by reason, so a frequent event does not suppress a rare one, such as a result or a warning.
    const group = JSON.stringify([about, type, reason]);
    const bucket = buckets.get(group) ?? { tokens: burst, atMs: now };
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.atMs) / refillMs);
    bucket.atMs = now;
    buckets.set(group, bucket);
    if (bucket.tokens < 1) return undefined;
    bucket.tokens -= 1;

    let seen = alike.get(group);
    if (!seen || now - seen.lastMs > windowMs) seen = { messages: new Set(), lastMs: now };
    seen.lastMs = now;
    if (seen.messages.size < maxAlike) seen.messages.add(message);
    alike.set(group, seen);
    const combined = seen.messages.size >= maxAlike && !seen.messages.has(message);

    const key = combined ? group : JSON.stringify([about, type, reason, message]);
    const before = written.get(key);
    const next = { count: (before?.count ?? 0) + 1, firstMs: before?.firstMs ?? now };
    written.set(key, next);
    return { key, message: combined ? `(combined from similar events): ${message}` : message, ...next };
  };
}

/** Returns a map that drops the entry that was set longest ago. */
function recent<V>(size: number): { get(key: string): V | undefined; set(key: string, value: V): void } {
  const map = new Map<string, V>();
  return {
    get: (key) => map.get(key),
    set(key, value) {
      map.delete(key);
      map.set(key, value);
      const oldest = map.size > size ? map.keys().next().value : undefined;
      if (oldest !== undefined) map.delete(oldest);
    },
  };
}
