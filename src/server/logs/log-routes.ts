import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { onClusters } from '#access/permissions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { ok } from '#rest/answers.ts';
import { getOperationLog } from '#rest/history.ts';
import { BROKEN_OFF, getLogs, LOG_END_TRAILER, type LogEnd } from '#rest/read-routes.ts';
import type { LiveDeps } from '../auth/route-deps.ts';
import { findOperation } from '../clusters/operation-records.ts';
import { clusterIn, keyOf } from '../clusters/requests.ts';
import { addressOf } from '../http/address.ts';
import { onDeparture } from '../http/departure.ts';
import { notFound } from '../http/errors.ts';
import { serve } from '../http/serve.ts';
import { followLimit, logLimit } from '../http/user-limit.ts';
import { endOfLog, endOfOperationLog, liveLog, sharedReads } from './log-reader.ts';
import type { LogStore } from './log-store.ts';

/** A live log ends after this time; a client that still wants it asks again and is authenticated again. */
const LONGEST_MS = 2 * 3_600_000;

/** Yields the text; ends silently if the client has left, and else reports that the log breaks off. */
async function* until(
  gone: AbortSignal,
  texts: AsyncIterable<string>,
  { leave, breakOff }: { leave(): void; breakOff(): void },
): AsyncGenerator<string> {
  try {
    yield* texts;
  } catch {
    breakOff();
    if (!gone.aborted) yield `${BROKEN_OFF}\n`;
  } finally {
    leave();
  }
}

export interface LogDeps extends LiveDeps {
  logs: LogStore;
}

export const logRoutes = (app: FastifyInstance, deps: LogDeps): void => {
  const { client, clock, auth, logs, closing } = deps;
  const shared = sharedReads(client, logs, clock);
  const [followers, readers] = [followLimit(), logLimit()];
  serve(app, getLogs, async ({ params, query, headers, person, raw }, reply) => {
    const { region, ...key } = addressOf({ params, query });
    await auth.allow(person, onClusters('get', key.namespace, key.name));
    const cluster: KubernetesCluster = await clusterIn(client, region, key);
    const isPlain = query.follow === 'true' || /^text\/plain\b/.test(headers.accept ?? '');
    if (!isPlain) {
      const leave = readers.enter(person.username);
      return ok(await endOfLog(logs, cluster).finally(leave));
    }
    const leave = followers.enter(person.username);
    const gone = new AbortController();
    onDeparture(raw, reply.raw, () => {
      gone.abort(new Error('nobody listens'));
      leave();
    });
    const signal = AbortSignal.any([gone.signal, closing, AbortSignal.timeout(LONGEST_MS)]);
    const authorize = async () => {
      const now = await auth.personOf(headers.authorization);
      await auth.allow(now, onClusters('get', key.namespace, key.name));
    };
    const live = liveLog({ clock, logs, shared, authorize }, keyOf(cluster), cluster.metadata.uid, signal);
    let end: LogEnd = 'complete';
    const breakOff = () => {
      end = 'broken-off';
    };
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    reply.trailer(LOG_END_TRAILER, async () => end);
    const text = Readable.from(until(gone.signal, live, { leave, breakOff }));
    return reply.type('text/plain; charset=utf-8').send(text);
  });

  serve(app, getOperationLog, async ({ params: { region, name, id }, query: { namespace }, person }) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const cluster = await clusterIn(client, region, { namespace, name });
    const operation = await findOperation(client, cluster, id);
    if (!operation) throw notFound(`cluster "${name}" has no record of operation "${id}"`);
    const leave = readers.enter(person.username);
    const { id: own, operation: of, attempt } = operation;
    return ok(await endOfOperationLog(logs, { name: of, id: own, attempt }).finally(leave));
  });
};
