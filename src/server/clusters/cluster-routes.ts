import type { z } from 'zod';
import { onClusters } from '#access/permissions.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { clusterObject } from '#rest/answers.ts';
import { getCluster, listClusters, listSnapshots } from '#rest/read-routes.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { unprocessable } from '../http/errors.ts';
import { entityTagOf } from '../http/if-match.ts';
import { serve } from '../http/serve.ts';
import { clusterIn } from './requests.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** Returns the object without credentials and bookkeeping. */
function shownCluster({ metadata, spec, ...rest }: KubernetesCluster): z.infer<typeof clusterObject> {
  const { managedFields: _fields, annotations = {}, ...kept } = metadata;
  const { [LAST_APPLIED]: _text, ...shown } = annotations;
  const { authConfig: _secret, ...cluster } = spec.cluster;
  return { ...rest, metadata: { ...kept, annotations: shown }, spec: { ...spec, cluster } };
}

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
    const { items, metadata } = await client
      .list<KubernetesCluster>(KUBERNETES_CLUSTERS, {
        namespace,
        labelSelector,
        fieldSelector: name === undefined ? undefined : `metadata.name=${name}`,
        limit,
        continue: from,
      })
      .catch((error: unknown) => {
        if (labelSelector === undefined || !isApiError(error) || error.reason !== 'BadRequest') throw error;
        const reason = 'is not a label selector; write it like team=blue';
        throw unprocessable([{ field: 'labelSelector', value: labelSelector, reason }]);
      });
    return {
      items: items.map(shownCluster),
      ...(metadata.continue ? { continue: metadata.continue } : {}),
      ...(metadata.remainingItemCount === undefined ? {} : { remaining: metadata.remainingItemCount }),
    };
  });
};
