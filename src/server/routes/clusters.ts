import { z } from 'zod';
import { onClusters } from '#access/deeds.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { clusterPath, errorSchema, namespaceSchema } from '../bodies.ts';
import { clusterIn } from '../requests.ts';
import type { Routes } from './room.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const PAGE = 100;

const clusterSchema = z
  .looseObject({ metadata: z.looseObject({}), spec: z.looseObject({}) })
  .meta({ id: 'KubernetesCluster', description: 'The object, without authConfig and managedFields.' });
const listSchema = z.object({
  items: z.array(clusterSchema),
  continue: z.string().optional().meta({ description: 'Give it back to get the next page.' }),
  remaining: z.int().optional().meta({ description: 'About how many more there are.' }),
});

/** The object as people may see it: no credentials, no bookkeeping. */
function shownCluster({ metadata, spec, ...rest }: KubernetesCluster): z.infer<typeof clusterSchema> {
  const { managedFields: _fields, annotations = {}, ...kept } = metadata;
  const { [LAST_APPLIED]: _text, ...shown } = annotations;
  const { authConfig: _secret, ...cluster } = spec.cluster;
  return { ...rest, metadata: { ...kept, annotations: shown }, spec: { ...spec, cluster } };
}

export const clusterRoutes: Routes = (app, { client, auth }) => {
  app.get(
    '/region/:region/cluster/:name',
    {
      schema: {
        summary: 'Look at a cluster',
        tags: ['clusters'],
        params: clusterPath,
        querystring: z.strictObject({ namespace: namespaceSchema.default('default') }),
        response: { 200: clusterSchema, '4xx': errorSchema },
      },
    },
    async ({ params: { region, name }, query: { namespace }, person }, reply) => {
      await auth.allow(person, onClusters('get', namespace, name));
      return reply.send(shownCluster(await clusterIn(client, region, { namespace, name })));
    },
  );

  app.get(
    '/clusters',
    {
      schema: {
        summary: 'List clusters, page by page',
        tags: ['clusters'],
        querystring: z.strictObject({
          namespace: namespaceSchema.optional().meta({ description: 'Default: all namespaces.' }),
          limit: z.coerce.number().int().min(1).max(500).default(PAGE),
          continue: z.string().max(4096).optional(),
        }),
        response: { 200: listSchema, '4xx': errorSchema },
      },
    },
    async ({ query: { namespace, limit, continue: from }, person }, reply) => {
      await auth.allow(person, onClusters('list', namespace));
      const { items, metadata } = await client.list<KubernetesCluster>(KUBERNETES_CLUSTERS, {
        namespace,
        limit,
        continue: from,
      });
      return reply.send({
        items: items.map(shownCluster),
        ...(metadata.continue ? { continue: metadata.continue } : {}),
        ...(metadata.remainingItemCount === undefined ? {} : { remaining: metadata.remainingItemCount }),
      });
    },
  );
};
