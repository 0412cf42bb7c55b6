import type { KubeObject } from '#api/meta.ts';
import type { WatchEvent } from '../wire/watch-stream.ts';
import { keyOf, keyText } from './object-key.ts';

/** Collects the first part of a WatchList stream: the existing objects, up to the bookmark that ends them. */
export interface InitialEvents<T> {
  take(event: WatchEvent<T>, each: (object: T) => T): void;
  readonly complete: boolean;
}

/**
 * Calls `done` with all objects, at the bookmark's version; until then the cache stays the same. Source: client-go
 * reflector.go watchList, KEP-3157.
 */
export function createInitialEvents<T extends KubeObject>(
  done: (items: Map<string, T>, resourceVersion: string) => void,
): InitialEvents<T> {
  const items = new Map<string, T>();
  let complete = false;
  return {
    take(event, each) {
      const { type, object } = event;
      if (type === 'BOOKMARK') {
        if (object.metadata.annotations?.['k8s.io/initial-events-end'] !== 'true') return;
        complete = true;
        done(items, object.metadata.resourceVersion ?? '');
      } else if (type === 'DELETED') items.delete(keyText(keyOf(object)));
      else items.set(keyText(keyOf(object)), each(object));
    },
    get complete() {
      return complete;
    },
  };
}
