import { compareVersions } from './resource-version.ts';

/** Callers that wait until a cache has reached a version. */
export interface VersionWaiters {
  add(version: string, sinceMs: number, then: () => void): () => void;
  /** Reports that the cache is at `version`. `listBegunMs`: begin of the list that brought it there, if a list did. */
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
        // After an etcd restore, versions go back: a list begun later shows the present state, even with a lower number.
        if (isAtLeast(version, waiter.version) || waiter.sinceMs < listBegunMs) {
          waiting.delete(waiter);
          waiter.then();
        }
      }
    },
  };
}

/** Whether a version is at least the wanted one. Versions that are no numbers must be equal, or a list must follow. */
export function isAtLeast(version: string, wanted: string): boolean {
  const order = compareVersions(version, wanted);
  return order !== undefined && order >= 0;
}
