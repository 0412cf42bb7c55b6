import { follow, Refused, type StreamState } from './api.ts';
import { type Cluster, isCluster, keyOf } from './cluster.ts';

/** All clusters that the user may see, live. */

export interface Snapshot {
  clusters: ReadonlyMap<string, Cluster>;
  /** Whether the first list has come. */
  isSynced: boolean;
  state: StreamState;
  /** Why the server refuses the list. */
  refusal: string | undefined;
  /** Whether the server refuses the token. */
  isLoggedOut: boolean;
}

const EMPTY: Snapshot = {
  clusters: new Map(),
  isSynced: false,
  state: 'live',
  refusal: undefined,
  isLoggedOut: false,
};

/** A store as React reads it (useSyncExternalStore). */
export interface ClustersStore {
  subscribe(listener: () => void): () => void;
  read(): Snapshot;
  /** Follows the clusters of a namespace, or of all; ends what it followed before. */
  watch(namespace: string | undefined): void;
  stop(): void;
}

export function createClustersStore(): ClustersStore {
  let snapshot = EMPTY;
  let present = new Map<string, Cluster>();
  /** A list that comes once more. It replaces the former one when it is complete. */
  let incoming: Map<string, Cluster> | undefined;
  let abort = new AbortController();
  let isDue = false;
  const listeners = new Set<() => void>();
  const publish = (change: Partial<Snapshot>): void => {
    snapshot = { ...snapshot, ...change };
    for (const listener of listeners) listener();
  };
  /** Publishes once for all events of a frame: at first thousands come at once. */
  const changed = (): void => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      publish({ clusters: new Map(present) });
    });
  };
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    read: () => snapshot,
    watch(namespace) {
      abort.abort();
      abort = new AbortController();
      present = new Map();
      incoming = undefined;
      publish({ ...EMPTY });
      follow(
        '/clusters/events',
        { namespace },
        ({ event, data }) => {
          if (event === 'reset') incoming = new Map();
          if (event === 'synced') {
            present = incoming ?? present;
            incoming = undefined;
            publish({ isSynced: true });
          }
          if (isCluster(data)) {
            const list = incoming ?? present;
            if (event === 'deleted') list.delete(keyOf(data));
            else if (event === 'added' || event === 'modified') list.set(keyOf(data), data);
          }
          changed();
        },
        (state) => publish({ state }),
        abort.signal,
      ).catch((error: unknown) =>
        publish({
          refusal: error instanceof Error ? error.message : String(error),
          isSynced: true,
          state: 'ended',
          isLoggedOut: error instanceof Refused && error.status === 401,
        }),
      );
    },
    stop: () => abort.abort(),
  };
}
