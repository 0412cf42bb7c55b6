import type { KubeObject, Resource } from '#api/meta.ts';
import { jitteredBackoff } from '#base/backoff.ts';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '../client/client.ts';
import type { Selection } from '../client/client-options.ts';
import { ApiError, isApiError, isExpired, isTooLargeResourceVersion } from '../wire/api-error.ts';
import type { WatchEvent } from '../wire/watch-stream.ts';
import { createInitialEvents, type InitialEvents } from './initial-events.ts';
import { listAll } from './list-pages.ts';
import { createStaleListGuard } from './stale-list-guard.ts';

/** Destination of a reflector's objects. Calls are synchronous, in the server's order. */
export interface Sink<T> {
  /** Replaces everything: objects by key, at `resourceVersion`, from a list begun at `begunMs` (monotonic). */
  replace(items: Map<string, T>, resourceVersion: string, begunMs: number): void;
  upsert(object: T, resourceVersion: string): void;
  remove(object: T, resourceVersion: string): void;
  /** Records that nothing changed up to this version. */
  bookmark(resourceVersion: string): void;
}

export interface ReflectorOptions<T> {
  client: Client;
  resource: Resource;
  selection?: Selection | undefined;
  sink: Sink<T>;
  log: Logger;
  /** Transforms each object before it is kept. */
  each: (object: T) => T;
  /** Maximum number of objects of a page. Default 5,000. */
  pageSize?: number | undefined;
  /** Whether to read existing objects by a watch if the server can (1.32 and later), else by pages. Default true. */
  watchList?: boolean | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Gets each change between working (undefined) and failing (the error's message). */
  onHealth?: ((failure: string | undefined) => void) | undefined;
  /** Counts for metrics. */
  observe?: ((event: 'list' | 'watch' | 'relist' | 'failure') => void) | undefined;
}

/**
 * Keeps a sink in sync with the API server until `signal` aborts: it lists, then watches from the list's version,
 * repeatedly. It never rejects; every failure is retried with a jittered backoff. After the end of a watch, a refused
 * connection, 429 and 5xx it continues from the same version. Only a version that the server no longer has (410), or not
 * yet, makes it list again. Source: client-go tools/cache/reflector.go.
 */
export async function runReflector<T extends KubeObject>(
  options: ReflectorOptions<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, resource, selection = {}, sink, each, log } = options;
  const { clock = systemClock, random = Math.random, pageSize = 5000, onHealth, observe } = options;
  const backoff = jitteredBackoff({ clock, random });
  const guard = createStaleListGuard();
  let failure: string | undefined;
  let version: string | undefined;
  let { watchList = true } = options;

  const healthy = () => {
    if (failure !== undefined) log.info({ was: failure }, `${resource.plural}: watching again`);
    failure = undefined;
    onHealth?.(undefined);
  };
  /** Logs a failure once for each change, not for each attempt. */
  const failing = (error: unknown) => {
    const message = isApiError(error, 'NotFound') ? absent(resource) : messageOf(error);
    observe?.('failure');
    if (message !== failure)
      log.warn({ error: message }, `${resource.plural}: cannot list or watch, trying on`);
    failure = message;
    onHealth?.(message);
  };

  const begin = async () => {
    const begunMs = clock.monotonicMs();
    observe?.('list');
    if (watchList) {
      try {
        return await watch(
          createInitialEvents<T>((items, at) => {
            guard.list(at);
            sink.replace(items, at, begunMs);
          }),
        );
      } catch (error) {
        if (!isApiError(error, 'Invalid', 'BadRequest')) throw error;
        log.debug({ error: messageOf(error) }, `${resource.plural}: no WatchList here, listing instead`);
        watchList = false;
      }
    }
    const { items, resourceVersion } = await listAll<T>(client, resource, selection, {
      pageSize,
      signal,
      each,
      clock,
    });
    guard.list(resourceVersion);
    sink.replace(items, resourceVersion, begunMs);
    version = resourceVersion;
    healthy();
  };

  /** Watches from `version`, or from the beginning if it gets a collector for the existing objects. */
  const watch = async (initial?: InitialEvents<T>) => {
    const timeoutSeconds = Math.round(300 * (1 + random()));
    const startedMs = clock.monotonicMs();
    let events = 0;
    observe?.('watch');
    // The watch is aborted if the server forgets to end it.
    const overdue = new AbortController();
    const cancel = clock.after((timeoutSeconds + 30) * 1000, () => overdue.abort());
    try {
      await client.watch<T>(
        resource,
        {
          ...selection,
          resourceVersion: initial ? undefined : version,
          sendInitialEvents: initial !== undefined,
          timeoutSeconds,
          allowWatchBookmarks: true,
          signal: AbortSignal.any([signal, overdue.signal]),
          timeoutMs: 60_000,
        },
        (event) => {
          events += 1;
          if (initial && !initial.complete) {
            initial.take(event, each);
            if (!initial.complete) return;
            version = versionOf(event);
          } else version = deliver(event, sink, each);
          guard.seen(version);
          if (failure !== undefined) healthy();
        },
      );
    } catch (error) {
      if (signal.aborted || !overdue.signal.aborted) throw error;
    } finally {
      cancel();
    }
    if (initial && !initial.complete) {
      throw new ApiError('Connection', 'the watch ended before what there is was sent', { status: 0 });
    }
    // Like client-go's "very short watch": a server that closes at once is failing, not done.
    if (events === 0 && clock.monotonicMs() - startedMs < 1000) {
      throw new ApiError('Connection', 'the watch was closed at once', { status: 0 });
    }
    healthy();
  };

  while (!signal.aborted) {
    try {
      if (version === undefined) await begin();
      else await watch();
    } catch (error) {
      if (signal.aborted) return;
      // A list without a version cannot be stale, so such a refusal counts as a failure.
      if (version !== undefined && (isExpired(error) || isTooLargeResourceVersion(error))) {
        log.info({ error: messageOf(error) }, `${resource.plural}: listing again`);
        observe?.('relist');
        version = undefined;
      } else {
        if (!isApiError(error)) log.error({ error: messageOf(error) }, `${resource.plural}: unexpected`);
        failing(error);
        // Without the right to watch, or after the kind's removal, it begins with a list once it can.
        if (isApiError(error, 'NotFound', 'Forbidden', 'Invalid', 'BadRequest')) version = undefined;
      }
      const waitMs = Math.max(backoff.next(), isApiError(error) ? (error.retryAfterSeconds ?? 0) * 1000 : 0);
      await sleep(Math.min(waitMs, 60_000), signal, clock).catch(() => {});
    }
  }
}

/** Returns the message for a 404 for a whole kind: the server's own message names neither the kind nor the missing part. */
function absent({ plural, group, version }: Resource): string {
  const kind = group === '' ? plural : `${plural}.${group}`;
  return `the server has no ${kind} (${version}) yet: waiting for its CustomResourceDefinition`;
}

function deliver<T extends KubeObject>(event: WatchEvent<T>, sink: Sink<T>, each: (object: T) => T): string {
  const version = versionOf(event);
  if (event.type === 'BOOKMARK') sink.bookmark(version);
  else if (event.type === 'DELETED') sink.remove(each(event.object), version);
  else sink.upsert(each(event.object), version);
  return version;
}

function versionOf({ object }: WatchEvent<KubeObject>): string {
  const version = object.metadata.resourceVersion;
  if (!version) throw new ApiError('Unknown', 'a watch event without a resourceVersion', { status: 200 });
  return version;
}
