import { onClusters } from '#access/permissions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { getCluster, listClusters, listSnapshots } from '#rest/read-routes.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { entityTagOf } from '../http/if-match.ts';
import { serve } from '../http/serve.ts';
import { clusterIn } from './requests.ts';
import { labelsOrRefusal } from './selection.ts';
import { shownCluster } from './shown-cluster.ts';

export const clusterRoutes: PeopleRoutes = (app, { client, auth }) => {
  serve(app, getCluster, async ({ params: { region, name }, query: { namespace }, person }, reply) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const cluster = await clusterIn(client, region, { namespace, name });
    reply.header('etag', entityTagOf(cluster));
    return shownCluster(cluster);
  });

  serve(app, listSnapshots, async ({ params: { region, name }, query: { namespace }, person }) => {
    await auth.allow(person, onClusters('get', namespace, name));
    const { status } = await clusterIn(client, region, { namespace, name });
    const { stored = [], failedAt } = status?.etcdSnapshots ?? {};
    return { items: stored, ...(failedAt === undefined ? {} : { failedAt }) };
  });

  serve(app, listClusters, async ({ query, person }) => {
    const { namespace, name, labelSelector, limit, continue: from } = query;
    await auth.allow(person, onClusters('list', namespace, name));
    const { items, metadata } = await labelsOrRefusal(labelSelector, () =>
      client.list<KubernetesCluster>(KUBERNETES_CLUSTERS, {
        namespace,
        labelSelector,
        fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
        limit,
        continue: from,
      }),
    );
    return {
      items: items.map(shownCluster),
      ...(metadata.continue ? { continue: metadata.continue } : {}),
      ...(metadata.remainingItemCount === undefined ? {} : { remaining: metadata.remainingItemCount }),
    };
  });
};
