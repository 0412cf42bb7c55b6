import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { keyText } from './object-key.ts';

/** Callers that wait until a cache has lost an object; the uid distinguishes it from a later one of the same name. */
export interface GoneWaiters {
  add(key: ObjectKey, uid: string, then: () => void): () => void;
  /** Checks the waiting callers after a change of the cache; `get` reads the cache. */
  check(get: (key: ObjectKey) => KubeObject | undefined): void;
}

export function createGoneWaiters(): GoneWaiters {
  const waiting = new Map<string, Set<{ key: ObjectKey; uid: string; then: () => void }>>();
  return {
    add(key, uid, then) {
      const text = keyText(key);
      const waiter = { key, uid, then };
      const waiters = waiting.get(text) ?? new Set();
      waiting.set(text, waiters.add(waiter));
      return () => {
        waiters.delete(waiter);
        if (waiters.size === 0 && waiting.get(text) === waiters) waiting.delete(text);
      };
    },
    check(get) {
      for (const [text, waiters] of waiting) {
        for (const waiter of waiters) {
          if (get(waiter.key)?.metadata.uid === waiter.uid) continue;
          waiters.delete(waiter);
          waiter.then();
        }
        if (waiters.size === 0) waiting.delete(text);
      }
    },
  };
}
