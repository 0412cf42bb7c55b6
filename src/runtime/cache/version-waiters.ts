import { compareVersions } from './resource-version.ts';

/** Who waits until a cache has reached a version. */
export interface VersionWaiters {
  add(version: string, sinceMs: number, then: () => void): () => void;
  /** The cache is at `version` now; `listBegunMs` where a list brought it there, and when that was begun. */
  reach(version: string, listBegunMs?: number): void;
}

export function createVersionWaiters(): VersionWaiters {
  const waiting = new Set<{ version: string; sinceMs: number; then: () => void }>();
  return {
    add(version, sinceMs, then) {
      const waiter = { version, sinceMs, then };
      waiting.add(waiter);
      return () => void waiting.delete(waiter);
    },
    reach(version, listBegunMs = Number.NEGATIVE_INFINITY) {
      for (const waiter of waiting) {
        // After an etcd restore versions go back: a list begun later shows what is there, whatever its number.
        if (isAtLeast(version, waiter.version) || waiter.sinceMs < listBegunMs) {
          waiting.delete(waiter);
          waiter.then();
        }
      }
    },
  };
}

/** Versions that are no numbers can only be waited for by equality, or by a list. */
export function isAtLeast(version: string, wanted: string): boolean {
  const order = compareVersions(version, wanted);
  return order !== undefined && order >= 0;
}
