import { type Clock, systemClock } from './clock.ts';

/** Waiting times that grow with each failure. */
export interface Backoff {
  /** Returns the milliseconds to wait now. */
  next(): number;
}

export interface BackoffOptions {
  baseMs?: number | undefined;
  maxMs?: number | undefined;
  /** Time without a call after which it restarts from the base. */
  resetMs?: number | undefined;
  clock?: Clock | undefined;
  /** In [0, 1). */
  random?: (() => number) | undefined;
}

/**
 * Creates a backoff from 0.8 to 30 s, which doubles and adds up to as much again at random. Many clients that lost their
 * connection at once therefore do not return at once. Source: client-go reflector.go, wait.NewExponentialBackoffManager.
 */
export function jitteredBackoff(options: BackoffOptions = {}): Backoff {
  const {
    baseMs = 800,
    maxMs = 30_000,
    resetMs = 120_000,
    clock = systemClock,
    random = Math.random,
  } = options;
  let failures = 0;
  let last = clock.monotonicMs();
  return {
    next() {
      const now = clock.monotonicMs();
      if (now - last > resetMs) failures = 0;
      last = now;
      const base = Math.min(baseMs * 2 ** failures, maxMs);
      failures = Math.min(failures + 1, 30);
      return base * (1 + random());
    },
  };
}

/** Separate waiting times for each of many items. */
export interface ItemBackoff {
  next(item: string): number;
  forget(item: string): void;
  failures(item: string): number;
}

/** Creates a backoff from 5 ms to 1000 s, which doubles (client-go workqueue.NewItemExponentialFailureRateLimiter). */
export function itemBackoff({ baseMs = 5, maxMs = 1_000_000 }: BackoffOptions = {}): ItemBackoff {
  const failures = new Map<string, number>();
  return {
    next(item) {
      const failed = failures.get(item) ?? 0;
      failures.set(item, failed + 1);
      return Math.min(baseMs * 2 ** Math.min(failed, 60), maxMs);
    },
    forget: (item) => void failures.delete(item),
    failures: (item) => failures.get(item) ?? 0,
  };
}
