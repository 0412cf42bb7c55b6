import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { deepFreeze } from './freeze.ts';
import { keyOf, keyText } from './object-key.ts';

/** Returns the values under which an index has an object; none excludes the object. */
export type Indexer<T> = (object: T) => readonly string[];

/** Read access to a cache. Objects are frozen; copy an object before changing it. */
export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  list(namespace?: string): T[];
  /** Throws upon an undeclared index. */
  byIndex(index: string, value: string): T[];
  readonly size: number;
}

/** Change of one object. */
export type Change<T> =
  | { type: 'add'; after: T }
  | { type: 'update'; before: T; after: T }
  | { type: 'delete'; before: T };

export interface Store<T extends KubeObject> extends Lister<T> {
  upsert(object: T): Change<T>;
  /** Returns undefined if the object did not exist. */
  remove(object: T): Change<T> | undefined;
  /**
   * Replaces all objects by key, atomically for readers. The map belongs to the store from then on. Returns the differences,
   * deletions first.
   */
  replace(objects: Map<string, T>): Change<T>[];
}

export interface StoreOptions<T> {
  indexers?: Readonly<Record<string, Indexer<T>>> | undefined;
}

/** Creates a store; the single thread makes it atomic. Source: client-go tools/cache/thread_safe_store.go. */
export function createStore<T extends KubeObject>({ indexers = {} }: StoreOptions<T> = {}): Store<T> {
  let objects = new Map<string, T>();
  const indices = new Map<string, { values: Indexer<T>; found: Map<string, Map<string, T>> }>(
    Object.entries(indexers).map(([name, values]) => [name, { values, found: new Map() }]),
  );

  function unindex(text: string, object: T) {
    for (const { values, found } of indices.values()) {
      for (const value of values(object)) {
        const bucket = found.get(value);
        bucket?.delete(text);
        if (bucket?.size === 0) found.delete(value);
      }
    }
  }

  function index(text: string, object: T) {
    for (const { values, found } of indices.values()) {
      for (const value of values(object)) {
        const bucket = found.get(value) ?? new Map<string, T>();
        bucket.set(text, object);
        found.set(value, bucket);
      }
    }
  }

  function put(text: string, object: T): Change<T> {
    const before = objects.get(text);
    if (before) unindex(text, before);
    deepFreeze(object);
    objects.set(text, object);
    index(text, object);
    return before ? { type: 'update', before, after: object } : { type: 'add', after: object };
  }

  return {
    get: (key) => objects.get(keyText(key)),
    list(namespace) {
      const all = [...objects.values()];
      return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
    },
    byIndex(name, value) {
      const entry = indices.get(name);
      if (!entry) throw new TypeError(`no index '${name}'`);
      return [...(entry.found.get(value)?.values() ?? [])];
    },
    get size() {
      return objects.size;
    },
    upsert: (object) => put(keyText(keyOf(object)), object),
    remove(object) {
      const text = keyText(keyOf(object));
      const before = objects.get(text);
      if (!before) return undefined;
      unindex(text, before);
      objects.delete(text);
      return { type: 'delete', before };
    },
    replace(present) {
      const old = objects;
      objects = present;
      for (const { found } of indices.values()) found.clear();
      const here: Change<T>[] = [];
      for (const [text, object] of present) {
        deepFreeze(object);
        index(text, object);
        const before = old.get(text);
        if (before === undefined) here.push({ type: 'add', after: object });
        // The same version is the same object, so no handler is called.
        else if (
          before.metadata.resourceVersion !== object.metadata.resourceVersion ||
          !sameUid(before, object)
        ) {
          here.push({ type: 'update', before, after: object });
        }
      }
      const gone: Change<T>[] = [];
      for (const [text, before] of old) if (!objects.has(text)) gone.push({ type: 'delete', before });
      return [...gone, ...here];
    },
  };
}

function sameUid(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid;
}
