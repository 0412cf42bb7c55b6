import type { KubeObject } from '#api/meta.ts';

/** What a hold needs of an informer. */
export interface Reaching {
  hasReached(resourceVersion: string): boolean;
  onReached(resourceVersion: string, then: () => void): () => void;
}

/** Keys whose objects were written at versions that the caches have not seen yet. */
export interface Holds {
  /** A reconcile of `key` has written `object`, which that informer will show. */
  wrote(key: string, object: KubeObject, informer: Reaching): void;
  /**
   * True where the caches have seen all that was written for `key`. Else false, and when they have, the
   * `then` that was given last is called, once.
   */
  passes(key: string, then: () => void): boolean;
  readonly size: number;
}

/**
 * Read your writes: a key is not reconciled from a cache older than what its last reconcile wrote, else it
 * would decide upon a past in which its own write had not happened (reliability row 2). There is no time-out:
 * a cache that lags for long is a cache not to decide upon; it is healed by its own reflector.
 */
export function createHolds(): Holds {
  const holds = new Map<string, { open: number; wake?: () => void }>();
  return {
    wrote(key, { metadata }, informer) {
      const version = metadata.resourceVersion;
      if (!version || informer.hasReached(version)) return;
      const hold = holds.get(key) ?? { open: 0 };
      holds.set(key, hold);
      hold.open += 1;
      informer.onReached(version, () => {
        hold.open -= 1;
        if (hold.open > 0) return;
        holds.delete(key);
        hold.wake?.();
      });
    },
    passes(key, then) {
      const hold = holds.get(key);
      if (!hold) return true;
      hold.wake = then;
      return false;
    },
    get size() {
      return holds.size;
    },
  };
}
