import type { KubeObject, ObjectKey } from '#api/meta.ts';

/** Parts of an informer that a hold uses. */
export interface Reaching {
  hasReached(resourceVersion: string): boolean;
  onReached(resourceVersion: string, then: () => void): () => void;
  onGone(key: ObjectKey, uid: string, then: () => void): () => void;
}

/** Keys whose written objects the caches have not seen yet. */
export interface Holds {
  /** Registers that a reconcile of `key` wrote `object`, which that informer will show. */
  wrote(key: string, object: KubeObject, informer: Reaching): void;
  /** Registers that a reconcile of `key` deleted an object completely; that informer may still show it. */
  deleted(key: string, object: ObjectKey, uid: string, informer: Reaching): void;
  /** Whether the caches have seen all writes for `key`. If false, the most recent `then` is called once when they have. */
  passes(key: string, then: () => void): boolean;
  readonly size: number;
}

interface Hold {
  /** Number of writes and deletions that the caches have not seen yet. */
  open: number;
  /** Last written version that each informer must reach. */
  last: Map<Reaching, string>;
  wake?: () => void;
}

/**
 * Ensures read-your-writes: a key is not reconciled from a cache older than the writes of its last reconcile. Otherwise it
 * would decide on a state without its own write (reliability row 2). There is no timeout: a cache that lags for long must
 * not be used for decisions, and its reflector repairs it.
 */
export function createHolds(): Holds {
  const holds = new Map<string, Hold>();

  /** Adds one thing to wait for; the caller calls `release` when it was seen. */
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
      // The server names no version of a deletion. A cache without the object may not have seen its creation yet. So the
      // hold waits for our own writes first, then for the deletion.
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
