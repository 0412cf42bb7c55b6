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

/** Where a reflector puts what it sees. Calls are synchronous, in the server's order. */
export interface Sink<T> {
  /** Everything there is by key, as of `resourceVersion`, by a list that was begun at `begunMs` (monotonic). */
  replace(items: Map<string, T>, resourceVersion: string, begunMs: number): void;
  upsert(object: T, resourceVersion: string): void;
  remove(object: T, resourceVersion: string): void;
  /** Nothing new up to here. */
  bookmark(resourceVersion: string): void;
}

export interface ReflectorOptions<T> {
  client: Client;
  resource: Resource;
  selection?: Selection | undefined;
  sink: Sink<T>;
  log: Logger;
  /** Applied to each object before it is kept. */
  each: (object: T) => T;
  /** Objects of a page, at most. Default 5,000. */
  pageSize?: number | undefined;
  /** Whether to ask for what there is by a watch, where the server can (1.32 on); else by pages. Default true. */
  watchList?: boolean | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  /** Called at each change between working (undefined) and failing (the error's message). */
  onHealth?: ((failure: string | undefined) => void) | undefined;
  /** Counts for metrics. */
  observe?: ((event: 'list' | 'watch' | 'relist' | 'failure') => void) | undefined;
}

/**
 * Keeps a sink in step with the API server until `signal` aborts: list, then watch from the list's version,
 * on and on. Never rejects; whatever goes wrong is retried with a jittered backoff. A watch that ends, a
 * refused connection, 429 and 5xx go on from the same version; only a version that the server has no more
 * (410), or not yet, makes it list again. Source: client-go tools/cache/reflector.go.
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
  /** Says so once a change, not once a try. */
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

  /** Watches on from `version`, or, given where to gather what there is, from the beginning. */
  const watch = async (initial?: InitialEvents<T>) => {
    const timeoutSeconds = Math.round(300 * (1 + random()));
    const startedMs = clock.monotonicMs();
    let events = 0;
    observe?.('watch');
    // A server that forgets to end the watch is reminded.
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
    // As client-go's "very short watch": a server that closes at once is failing, not done.
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
      // A list that is refused so is no reason to list: it fails like any other.
      if (version !== undefined && (isExpired(error) || isTooLargeResourceVersion(error))) {
        log.info({ error: messageOf(error) }, `${resource.plural}: listing again`);
        observe?.('relist');
        version = undefined;
      } else {
        if (!isApiError(error)) log.error({ error: messageOf(error) }, `${resource.plural}: unexpected`);
        failing(error);
        // Whoever may not watch, or watches what is gone, begins anew when he can.
        if (isApiError(error, 'NotFound', 'Forbidden', 'Invalid', 'BadRequest')) version = undefined;
      }
      const waitMs = Math.max(backoff.next(), isApiError(error) ? (error.retryAfterSeconds ?? 0) * 1000 : 0);
      await sleep(Math.min(waitMs, 60_000), signal, clock).catch(() => {});
    }
  }
}

/** A 404 for a whole kind: the server's own words name neither the kind nor what is missing. */
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
