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

/** What an informer tells. Objects are frozen. A throw is logged and harms nobody else. */
export interface Handler<T> {
  /** `initial`: part of a list, not fresh news. */
  add?(object: T, how: { initial: boolean }): void;
  /** `resync`: nothing changed, `before` is `after`; `initial`: found changed by a list. */
  update?(before: T, after: T, how: { initial: boolean; resync: boolean }): void;
  /** `stale`: it vanished unseen, `last` is only the last state that we know. */
  delete?(last: T, how: { stale: boolean }): void;
}

export interface InformerOptions<T extends KubeObject> {
  client: Client;
  resource: Resource;
  selection?: Selection | undefined;
  indexers?: Readonly<Record<string, Indexer<T>>> | undefined;
  /** What to keep of an object. Default: all but managedFields, which is a third of its memory. */
  transform?: ((object: T) => T) | undefined;
  /** Every so often each object is handed to the handlers again, from the cache. Absent: never. */
  resyncMs?: number | undefined;
  /** Objects of a page, at most. Default 5,000. */
  pageSize?: number | undefined;
  watchList?: boolean | undefined;
  log: Logger;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  observe?: ((event: 'list' | 'watch' | 'relist' | 'failure' | 'event') => void) | undefined;
}

/** Selects the objects of an informer and says how it keeps them. */
export type InformerView<T extends KubeObject> = Pick<
  InformerOptions<T>,
  'selection' | 'indexers' | 'transform' | 'resyncMs'
>;

/** A shared, read-only copy of the objects of one kind and selection, and news of their changes. */
export interface Informer<T extends KubeObject> extends Lister<T> {
  readonly resource: Resource;
  readonly selection: Selection;
  /** Kind and selection: two informers of the same identity are one too many. */
  readonly identity: string;
  /** Objects that are there already are handed over at once, as initial. Answers how to leave. */
  addHandler(handler: Handler<T>): () => void;
  /** Starts once; ends with the signal. Resolves when it has ended. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  hasSynced(): boolean;
  /** Resolves when the first list is in the cache; rejects with the signal's reason. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Whether the cache is at least as new as that version of an object of this kind. */
  hasReached(resourceVersion: string): boolean;
  /** Calls `then` once, when hasReached is or may be taken as true (a list begun after this call). */
  onReached(resourceVersion: string, then: () => void): () => void;
  /** Calls `then` once, when the cache does not hold that very object (any more). */
  onGone(key: ObjectKey, uid: string, then: () => void): () => void;
  /** Why it cannot list or watch at present. */
  failure(): string | undefined;
  /** How long ago it last began a list or a watch, saw an event, or failed; 0 before it runs and after. */
  stalledMs(): number;
}

/** Source: client-go tools/cache/shared_informer.go. */
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
  const contained = (what: string, object: T, tell: () => void) => {
    try {
      tell();
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
    if (change.type !== 'add') goneWaiters.look(store.get);
  };
  // In the sink: the cache first, then the handlers, then who waited: a handler's effects come before his.
  const sink = {
    replace(items: Map<string, T>, to: string, begunMs: number) {
      const changes = store.replace(items);
      version = to;
      // Once for all of them: there may be thousands, and reading the clock costs more than telling of one.
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
      // The event's object is newer than ours: it is how the object ended.
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
