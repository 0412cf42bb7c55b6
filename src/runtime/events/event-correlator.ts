import { type Clock, systemClock } from '#base/clock.ts';

/** What somebody wants said about an object. */
export interface News {
  /** Which object: uid, or whatever tells it from others. */
  about: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** What is to be written: `key` is the same for what is to be one Event, `count` how often it happened. */
export interface Correlated {
  key: string;
  message: string;
  count: number;
  firstMs: number;
}

export interface CorrelatorOptions {
  clock?: Clock | undefined;
  /** Alike but for their message, within `windowMs`, before they become one Event. Default 10. */
  maxAlike?: number | undefined;
  windowMs?: number | undefined;
  /** At once about one object for one reason; then one each `refillMs`. Default 25 and 300,000. */
  burst?: number | undefined;
  refillMs?: number | undefined;
  /** Objects and Events remembered. Default 4,096. */
  memory?: number | undefined;
}

/**
 * Keeps Events from flooding: undefined where nothing is to be written. Source: client-go
 * tools/record/events_cache.go (EventSourceObjectSpamFilter, EventAggregator, eventLogger).
 */
export function createCorrelator(options: CorrelatorOptions = {}): (news: News) => Correlated | undefined {
  const { clock = systemClock, maxAlike = 10, windowMs = 600_000 } = options;
  const { burst = 25, refillMs = 300_000, memory = 4096 } = options;
  const buckets = recent<{ tokens: number; atMs: number }>(memory);
  const alike = recent<{ messages: Set<string>; lastMs: number }>(memory);
  const written = recent<{ count: number; firstMs: number }>(memory);

  return ({ about, type, reason, message }) => {
    const now = clock.monotonicMs();
    // By reason, so that what is said often takes nothing from what is said once: a result, a warning.
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

/** A map that forgets what was set longest ago. */
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
