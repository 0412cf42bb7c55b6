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
   * True where the caches have seen all that was written for `key`. Else false, and `then` is called once
   * when they have.
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
  const holds = new Map<string, Map<Reaching, Set<string>>>();
  return {
    wrote(key, { metadata }, informer) {
      const version = metadata.resourceVersion;
      if (!version || informer.hasReached(version)) return;
      const byInformer = holds.get(key) ?? new Map<Reaching, Set<string>>();
      holds.set(key, byInformer);
      byInformer.set(informer, (byInformer.get(informer) ?? new Set<string>()).add(version));
      informer.onReached(version, () => {
        const versions = byInformer.get(informer);
        versions?.delete(version);
        if (versions?.size === 0) byInformer.delete(informer);
        if (byInformer.size === 0 && holds.get(key) === byInformer) holds.delete(key);
      });
    },
    passes(key, then) {
      const byInformer = holds.get(key);
      if (!byInformer || byInformer.size === 0) return true;
      let called = false;
      for (const [informer, versions] of byInformer) {
        for (const version of versions) {
          informer.onReached(version, () => {
            // Any one of several is reason enough to look again; the rest holds on its own.
            if (!called) then();
            called = true;
          });
          return false;
        }
      }
      return true;
    },
    get size() {
      return holds.size;
    },
  };
}
