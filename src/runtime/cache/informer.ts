import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { orAborted } from '#base/abort.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '../client/client.ts';
import type { Selection } from '../client/client-options.ts';
import { apiVersionOf } from '../wire/resource-path.ts';
import { deepFreeze } from './freeze.ts';
import { createGoneWaiters } from './gone-waiters.ts';
import { runReflector } from './reflector.ts';
import { type Change, createStore, type Indexer, type Lister } from './store.ts';
import { createVersionWaiters, isAtLeast } from './version-waiters.ts';

/** Handlers of an informer's events. Objects are frozen. An error is logged and affects no other handler. */
export interface Handler<T> {
  /** `initial`: the object comes from a list, not from an event. */
  add?(object: T, how: { initial: boolean }): void;
  /** `resync`: nothing changed, `before` is `after`. `initial`: a list showed the change. */
  update?(before: T, after: T, how: { initial: boolean; resync: boolean }): void;
  /** `stale`: the deletion was not seen, so `last` is only the last known state. */
  delete?(last: T, how: { stale: boolean }): void;
}

export interface InformerOptions<T extends KubeObject> {
  client: Client;
  resource: Resource;
  selection?: Selection | undefined;
  indexers?: Readonly<Record<string, Indexer<T>>> | undefined;
  /** Returns the part of an object to keep. Default: all but managedFields, which take a third of the memory. */
  transform?: ((object: T) => T) | undefined;
  /** Interval at which the handlers get each object again, from the cache. Absent: never. */
  resyncMs?: number | undefined;
  /** Maximum number of objects of a page. Default 5,000. */
  pageSize?: number | undefined;
  watchList?: boolean | undefined;
  log: Logger;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  observe?: ((event: 'list' | 'watch' | 'relist' | 'failure' | 'event') => void) | undefined;
}

/** Selects the objects of an informer, and the parts that it keeps. */
export type InformerView<T extends KubeObject> = Pick<
  InformerOptions<T>,
  'selection' | 'indexers' | 'transform' | 'resyncMs'
>;

/** Shared, read-only copy of the objects of one kind and selection, with events of their changes. */
export interface Informer<T extends KubeObject> extends Lister<T> {
  readonly resource: Resource;
  readonly selection: Selection;
  /** Kind and selection: two informers with the same identity are redundant. */
  readonly identity: string;
  /** Adds a handler, which gets existing objects at once as initial. Returns a function that removes it. */
  addHandler(handler: Handler<T>): () => void;
  /** Runs until the signal aborts; resolves then. Starts only once. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  hasSynced(): boolean;
  /** Resolves when the first list is in the cache; rejects with the signal's reason. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Whether the cache is at least as new as that version of an object of this kind. */
  hasReached(resourceVersion: string): boolean;
  /** Calls `then` once, when hasReached is true or may count as true (after a list that began after this call). */
  onReached(resourceVersion: string, then: () => void): () => void;
  /** Calls `then` once, when the cache does not hold the object with that uid. */
  onGone(key: ObjectKey, uid: string, then: () => void): () => void;
  /** Returns the reason why it cannot list or watch at present. */
  failure(): string | undefined;
  /** Returns the time since it last began a list or a watch, saw an event, or failed; 0 before it runs and after. */
  stalledMs(): number;
}

/** Creates an informer. Source: client-go tools/cache/shared_informer.go. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { resource, selection = {}, log, clock = systemClock, transform = withoutManagedFields } = options;
  const store = createStore<T>({ indexers: options.indexers });
  const handlers = new Set<Handler<T>>();
  const waiters = createVersionWaiters();
  const goneWaiters = createGoneWaiters();
  const synced = Promise.withResolvers<void>();
  let isSynced = false;
  let version = '';
  let failure: string | undefined;
  let activeMs: number | undefined;
  let running: Promise<void> | undefined;

  const note = (event: 'list' | 'watch' | 'relist' | 'failure') => {
    activeMs = clock.monotonicMs();
    options.observe?.(event);
  };
  const contained = (what: string, object: T, report: () => void) => {
    try {
      report();
    } catch (error) {
      const { namespace, name } = object.metadata;
      log.error(
        { error: messageOf(error), namespace, name },
        `${resource.kind}: a handler failed upon ${what}`,
      );
    }
  };
  const tell = (handler: Handler<T>, change: Change<T>, initial: boolean) => {
    if (change.type === 'delete') {
      const { before } = change;
      contained('delete', before, () => handler.delete?.(before, { stale: initial }));
    } else if (change.type === 'add') {
      const { after } = change;
      contained('add', after, () => handler.add?.(after, { initial }));
    } else {
      const { before, after } = change;
      contained('update', after, () => handler.update?.(before, after, { initial, resync: false }));
    }
  };
  const publish = (change: Change<T>, initial: boolean) => {
    options.observe?.('event');
    for (const handler of handlers) tell(handler, change, initial);
    if (change.type !== 'add') goneWaiters.check(store.get);
  };
  // The order is cache, handlers, waiting callers: the effects of handlers come before those of callers.
  const sink = {
    replace(items: Map<string, T>, to: string, begunMs: number) {
      const changes = store.replace(items);
      version = to;
      // Reads the clock once for all changes: there may be thousands, and the reading costs more than a handler.
      activeMs = clock.monotonicMs();
      for (const change of changes) publish(change, true);
      isSynced = true;
      synced.resolve();
      waiters.reach(to, begunMs);
    },
    upsert(object: T, to: string) {
      const change = store.upsert(object);
      version = to;
      activeMs = clock.monotonicMs();
      publish(change, false);
      waiters.reach(to);
    },
    remove(object: T, to: string) {
      const known = store.remove(object);
      version = to;
      activeMs = clock.monotonicMs();
      // The event's object is newer than the cached one: it is the final state.
      if (known) publish({ type: 'delete', before: object }, false);
      waiters.reach(to);
    },
    bookmark(to: string) {
      activeMs = clock.monotonicMs();
      version = to;
      waiters.reach(to);
    },
  };

  const informer: Informer<T> = {
    get: store.get,
    list: store.list,
    byIndex: store.byIndex,
    get size() {
      return store.size;
    },
    resource,
    selection,
    identity: identityOf(resource, selection),
    addHandler(handler) {
      handlers.add(handler);
      if (isSynced) for (const after of store.list()) tell(handler, { type: 'add', after }, true);
      return () => void handlers.delete(handler);
    },
    run(signal) {
      running ??= (async () => {
        const stopResync = everyResync(() => {
          for (const object of store.list()) {
            for (const handler of handlers) {
              contained('resync', object, () =>
                handler.update?.(object, object, { initial: false, resync: true }),
              );
            }
          }
        });
        try {
          await runReflector<T>(
            {
              ...options,
              selection,
              sink,
              each: (object) => deepFreeze(transform(object)),
              observe: note,
              onHealth: (message) => (failure = message),
            },
            signal,
          );
        } finally {
          stopResync();
          activeMs = undefined;
        }
      })();
      return running;
    },
    hasSynced: () => isSynced,
    whenSynced: (signal) => (signal ? orAborted(synced.promise, signal) : synced.promise),
    hasReached: (wanted) => isAtLeast(version, wanted),
    onReached(wanted, then) {
      if (!isAtLeast(version, wanted)) return waiters.add(wanted, clock.monotonicMs(), then);
      then();
      return () => {};
    },
    onGone(key, uid, then) {
      if (store.get(key)?.metadata.uid === uid) return goneWaiters.add(key, uid, then);
      then();
      return () => {};
    },
    failure: () => failure,
    stalledMs: () => (activeMs === undefined ? 0 : clock.monotonicMs() - activeMs),
  };
  return informer;

  function everyResync(run: () => void): () => void {
    const { resyncMs } = options;
    if (!resyncMs) return () => {};
    let cancel = () => {};
    const arm = () => {
      cancel = clock.after(resyncMs, () => {
        run();
        arm();
      });
    };
    arm();
    return () => cancel();
  }
}

function withoutManagedFields<T extends KubeObject>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}

function identityOf(resource: Resource, { namespace, labelSelector, fieldSelector }: Selection): string {
  const where = [namespace, labelSelector, fieldSelector].map((part) => part ?? '').join('|');
  return `${apiVersionOf(resource)}/${resource.plural}|${where}`;
}
