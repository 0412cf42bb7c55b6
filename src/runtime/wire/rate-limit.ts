import { type Clock, sleep, systemClock } from '#base/clock.ts';

/** Waits for permission to make one call; rejects with the signal's reason. */
export type RateLimit = (signal?: AbortSignal) => Promise<void>;

/**
 * Creates a token bucket: `burst` calls at once, then `qps` calls a second, first in, first out. Source: client-go
 * util/flowcontrol NewTokenBucketRateLimiter.
 */
export function tokenBucket(qps: number, burst: number, clock: Clock = systemClock): RateLimit {
  if (!(qps > 0) || !(burst >= 1)) throw new TypeError('qps must be above 0 and burst at least 1');
  let tokens = burst;
  let at = clock.monotonicMs();
  return async (signal) => {
    const now = clock.monotonicMs();
    tokens = Math.min(burst, tokens + ((now - at) * qps) / 1000);
    at = now;
    // The number may go below zero, so a later caller also waits for those before it.
    tokens -= 1;
    if (tokens >= 0) return;
    try {
      await sleep((-tokens * 1000) / qps, signal, clock);
    } catch (error) {
      tokens += 1;
      throw error;
    }
  };
}
