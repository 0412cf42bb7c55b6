import type { FastifyInstance } from 'fastify';
import { onClusters } from '#access/permissions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { type Clock, sleep } from '#base/clock.ts';
import { watchClusters } from '#rest/events.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError, isExpired, isTooLargeResourceVersion } from '#runtime/wire/api-error.ts';
import type { LiveDeps } from '../auth/route-deps.ts';
import { type EventSink, lastEventId, sendEvents, whileAllowed } from '../http/event-stream.ts';
import { serve } from '../http/serve.ts';
import { streamLimit } from '../http/user-limit.ts';
import { labelsOrRefusal } from './selection.ts';
import { shownCluster } from './shown-cluster.ts';

interface Selection {
  namespace: string | undefined;
  labelSelector: string | undefined;
  fieldSelector: string | undefined;
}

const PAGE = 100;
/** The API server ends a watch after this time; the next one continues. */
const WATCH_SECONDS = 300;
const RESOURCE_VERSION = /^[0-9]{1,18}$/;
/** A watch that ends sooner was not carried out. */
const SHORT_MS = 1000;

/** Sends all clusters, and returns the version of the list. */
async function sendAll(client: Client, selection: Selection, sink: EventSink): Promise<string> {
  let version = '';
  let from: string | undefined;
  do {
    const page = await client.list<KubernetesCluster>(KUBERNETES_CLUSTERS, {
      ...selection,
      limit: PAGE,
      continue: from,
      signal: sink.signal,
    });
    for (const cluster of page.items) await sink.paced({ event: 'added', data: shownCluster(cluster) });
    version = page.metadata.resourceVersion ?? '';
    from = page.metadata.continue || undefined;
  } while (from !== undefined);
  sink.send({ event: 'synced', id: version, data: {} });
  return version;
}

/** Sends changes until the signal aborts: those after `from`, or all clusters first. */
async function follow(
  client: Client,
  selection: Selection,
  from: string | undefined,
  { clock, sink }: { clock: Clock; sink: EventSink },
): Promise<void> {
  const { send, signal } = sink;
  let version = from;
  while (!signal.aborted) {
    const startedMs = clock.monotonicMs();
    try {
      version ??= await sendAll(client, selection, sink);
      await client.watch<KubernetesCluster>(
        KUBERNETES_CLUSTERS,
        {
          ...selection,
          resourceVersion: version,
          allowWatchBookmarks: true,
          timeoutSeconds: WATCH_SECONDS,
          signal,
        },
        ({ type, object }) => {
          version = object.metadata.resourceVersion ?? version;
          const isBookmark = type === 'BOOKMARK';
          send({ event: type.toLowerCase(), id: version, data: isBookmark ? {} : shownCluster(object) });
        },
      );
    } catch (error) {
      // The API server has compacted the version. A restored one has not reached it yet.
      const isUnknown =
        isExpired(error) || isTooLargeResourceVersion(error) || isApiError(error, 'BadRequest', 'Invalid');
      if (version === undefined || !isUnknown) throw error;
      send({ event: 'reset', data: {} });
      version = undefined;
    }
    const leftMs = SHORT_MS - (clock.monotonicMs() - startedMs);
    if (leftMs > 0) await sleep(leftMs, signal, clock);
  }
}

export const watchRoutes = (app: FastifyInstance, { client, clock, log, auth, closing }: LiveDeps): void => {
  const streams = streamLimit();
  serve(app, watchClusters, async ({ query, person, headers, raw }, reply) => {
    const { namespace, name, labelSelector } = query;
    const permission = onClusters('watch', namespace, name);
    await auth.allow(person, permission);
    const selection = {
      namespace,
      labelSelector,
      fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
    };
    const last = lastEventId(headers);
    // A wrong selector is refused before the stream begins.
    if (labelSelector !== undefined)
      await labelsOrRefusal(labelSelector, () =>
        client.list(KUBERNETES_CLUSTERS, { ...selection, limit: 1 }),
      );
    const leave = streams.enter(person.username);
    const authorize = async () => auth.allow(await auth.personOf(headers.authorization), permission);
    const from = last !== undefined && RESOURCE_VERSION.test(last) ? last : undefined;
    return sendEvents(reply, { raw, clock, log, closing, leave }, (sink) =>
      whileAllowed(clock, sink, authorize, (allowed) =>
        follow(client, selection, from, { clock, sink: allowed }),
      ),
    );
  });
};
