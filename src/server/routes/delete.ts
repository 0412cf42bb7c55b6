import { z } from 'zod';
import { onClusters } from '#access/deeds.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { WORDS } from '#api/words.ts';
import { isConflict, isNotFound } from '#runtime/api-error.ts';
import { addressed, addressOf, clusterPath, errorSchema, namespaceQuery, ok, okSchema } from '../bodies.ts';
import { conflict, notFound } from '../errors.ts';
import { clusterIn, judgeAndAsk, locationOf } from '../requests.ts';
import type { Routes } from './room.ts';

export const deleteBody = z
  .object({
    ...addressed,
    retry: z.boolean().optional().meta({ description: 'Asks again for a deletion that failed.' }),
  })
  .optional()
  .meta({ id: 'DeleteCluster' });

export const deleteRoutes: Routes = (app, { client, auth }) => {
  app.delete(
    '/region/:region/cluster/:name',
    {
      schema: {
        summary: 'Delete a cluster: reset its hosts, then forget it',
        tags: ['clusters'],
        params: clusterPath,
        querystring: namespaceQuery,
        body: deleteBody,
        response: { 200: okSchema, '4xx': errorSchema },
      },
    },
    async ({ params, query, body = {}, person }, reply) => {
      const { region, ...key } = addressOf({ params, query, body });
      await auth.allow(person, onClusters('delete', key.namespace, key.name));
      const cluster = await clusterIn(client, region, key);
      const { uid, deletionTimestamp } = cluster.metadata;
      if (!deletionTimestamp) {
        try {
          await client.delete(KUBERNETES_CLUSTERS, key, { preconditions: { uid } });
        } catch (error) {
          if (isNotFound(error)) throw notFound(`cluster "${key.name}" is gone`);
          if (isConflict(error)) throw conflict(`cluster "${key.name}" was made anew meanwhile`);
          throw error;
        }
      } else if (body.retry) {
        await judgeAndAsk(
          client,
          () => clusterIn(client, region, key),
          ({ status }) => {
            const running = status?.operation;
            if (running && running.result === undefined)
              throw conflict(`cluster "${key.name}" is busy: ${running.word}`);
            return { word: WORDS.delete.asked, person };
          },
        );
      }
      return reply.header('location', locationOf(region, key)).send(ok());
    },
  );
};
