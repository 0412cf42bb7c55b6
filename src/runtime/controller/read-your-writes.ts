import type { KubeObject, ObjectKey } from '#api/meta.ts';

/** What a hold needs of an informer. */
export interface Reaching {
  hasReached(resourceVersion: string): boolean;
  onReached(resourceVersion: string, then: () => void): () => void;
  onGone(key: ObjectKey, uid: string, then: () => void): () => void;
}

/** Keys whose objects were written at versions that the caches have not seen yet. */
export interface Holds {
  /** A reconcile of `key` has written `object`, which that informer will show. */
  wrote(key: string, object: KubeObject, informer: Reaching): void;
  /** A reconcile of `key` has deleted an object to the last; that informer may still show it. */
  deleted(key: string, object: ObjectKey, uid: string, informer: Reaching): void;
  /**
   * True where the caches have seen all that was written for `key`. Else false, and when they have, the
   * `then` that was given last is called, once.
   */
  passes(key: string, then: () => void): boolean;
  readonly size: number;
}

interface Hold {
  /** What has not been seen yet, of writes and deletions. */
  open: number;
  /** The last version written that each informer is waited for with. */
  last: Map<Reaching, string>;
  wake?: () => void;
}

/**
 * Read your writes: a key is not reconciled from a cache older than what its last reconcile wrote, else it
 * would decide upon a past in which its own write had not happened (reliability row 2). There is no time-out:
 * a cache that lags for long is a cache not to decide upon; it is healed by its own reflector.
 */
export function createHolds(): Holds {
  const holds = new Map<string, Hold>();

  /** Counts one more thing to wait for; what it answers is to be called when that was seen. */
  function opened(key: string): { hold: Hold; release: () => void } {
    const hold: Hold = holds.get(key) ?? { open: 0, last: new Map() };
    holds.set(key, hold);
    hold.open += 1;
    const release = () => {
      hold.open -= 1;
      if (hold.open > 0) return;
      holds.delete(key);
      hold.wake?.();
    };
    return { hold, release };
  }

  return {
    wrote(key, { metadata }, informer) {
      const version = metadata.resourceVersion;
      if (!version || informer.hasReached(version)) return;
      const { hold, release } = opened(key);
      hold.last.set(informer, version);
      informer.onReached(version, release);
    },
    deleted(key, object, uid, informer) {
      // The server names no version of a deletion. What was made a moment ago is not in the cache yet, which
      // does not mean that it has gone from there again: first come our own writes, then the deletion.
      const before = holds.get(key)?.last.get(informer);
      const { release } = opened(key);
      const gone = () => informer.onGone(object, uid, release);
      if (before === undefined) gone();
      else informer.onReached(before, gone);
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
