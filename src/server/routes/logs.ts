import { Readable } from 'node:stream';
import { z } from 'zod';
import { onClusters } from '#access/deeds.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { addressOf, clusterPath, errorSchema, namespaceSchema, ok, okSchema } from '../bodies.ts';
import { notFound } from '../errors.ts';
import { liveLog, wholeLog } from '../log-reader.ts';
import { clusterIn, keyOf } from '../requests.ts';
import type { Routes } from './room.ts';

/** A live log ends after this; whoever still wants it asks again, and is asked again who he is. */
const LONGEST_MS = 2 * 3_600_000;

const isGone = (error: unknown, signal: AbortSignal): boolean => signal.aborted || error === signal.reason;

/** The text as a stream that ends quietly when nobody listens any more. */
async function* until(signal: AbortSignal, texts: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* texts;
  } catch (error) {
    if (!isGone(error, signal)) yield 'the log cannot be read on; ask again\n';
  }
}

/** Two kinds of content, one of them a stream: declared for the documentation, not for the handler's type. */
const response: Record<string, unknown> = {
  200: {
    description: 'The log',
    content: { 'application/json': { schema: okSchema }, 'text/plain': { schema: z.string() } },
  },
  '4xx': errorSchema,
};

export const logRoutes: Routes = (app, room) => {
  const { client, auth, logs, closing } = room;
  app.get(
    '/region/:region/cluster/:name/logs',
    {
      schema: {
        summary: 'The log of the present or last operation',
        description:
          'In the envelope; with `follow=true` or `Accept: text/plain` as plain text, live until it ends.',
        tags: ['clusters'],
        params: clusterPath,
        querystring: z.object({
          namespace: namespaceSchema.optional(),
          follow: z.enum(['true', 'false']).optional(),
        }),
        response,
      },
    },
    async ({ params, query, headers, person, raw }, reply) => {
      const { region, ...key } = addressOf({ params, query });
      await auth.allow(person, onClusters('get', key.namespace, key.name));
      const cluster: KubernetesCluster = await clusterIn(client, region, key);
      const isPlain = query.follow === 'true' || /^text\/plain\b/.test(headers.accept ?? '');
      if (!isPlain) {
        const text = await wholeLog({ logs }, cluster);
        if (text === undefined) throw notFound(`no operation has run on cluster "${key.name}" yet`);
        return reply.send(ok(text));
      }
      const gone = new AbortController();
      raw.once('close', () => gone.abort(new Error('nobody listens')));
      const signal = AbortSignal.any([gone.signal, closing, AbortSignal.timeout(LONGEST_MS)]);
      const live = liveLog(room, keyOf(cluster), cluster.metadata.uid, signal);
      reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
      return reply.type('text/plain; charset=utf-8').send(Readable.from(until(signal, live)));
    },
  );
};
