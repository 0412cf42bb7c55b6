import { onClusters } from '#access/permissions.ts';
import { operationUnderWay } from '#api/cluster-facts.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { ok } from '#rest/answers.ts';
import { cancelOperation, pauseCluster, resumeCluster } from '#rest/steering.ts';
import type { Client } from '#runtime/client/client.ts';
import { isConflict } from '#runtime/wire/api-error.ts';
import type { PeopleRoutes } from '../auth/route-deps.ts';
import { addressOf } from '../http/address.ts';
import { conflict } from '../http/errors.ts';
import { changedMeanwhile, refuseOtherVersion, versionToWrite } from '../http/if-match.ts';
import { type Asked, serve } from '../http/serve.ts';
import { clusterIn, keyOf, locationOf } from './requests.ts';

type Caller = Pick<Asked<unknown, unknown, unknown>, 'person' | 'headers'>;

/** Returns the operation that can be cancelled. Throws HttpError 409 if there is none, or another one. */
function cancellable(cluster: KubernetesCluster, id: string | undefined): OperationStatus {
  const name = `cluster "${cluster.metadata.name}"`;
  const running = operationUnderWay(cluster);
  if (cluster.metadata.deletionTimestamp || running?.name === 'delete')
    throw conflict(`${name} is being deleted, which cannot be cancelled`);
  if (!running) throw conflict(`${name} has no operation under way; there is nothing to cancel`);
  if (id !== undefined && id !== running.id)
    throw conflict(`${name} has another operation under way: ${running.id} (${running.word}), not ${id}`);
  return running;
}

/** Cancels the operation with this id; if another one has begun by now, nothing is cancelled. */
const cancel = (
  client: Client,
  cluster: KubernetesCluster,
  { id }: OperationStatus,
  { person, headers }: Caller,
) =>
  patch(client, cluster, headers, {
    metadata: { annotations: { [annotations.cancel]: id, [annotations.cancelledBy]: person.username } },
  });

async function patch(
  client: Client,
  cluster: KubernetesCluster,
  headers: Caller['headers'],
  { metadata = {}, ...rest }: { metadata?: object; spec?: object },
): Promise<void> {
  const { uid } = cluster.metadata;
  const resourceVersion = versionToWrite(headers, cluster);
  const change = { ...rest, metadata: { ...metadata, uid, resourceVersion } };
  try {
    await client.patch(KUBERNETES_CLUSTERS, keyOf(cluster), change, { type: 'merge' });
  } catch (error) {
    if (isConflict(error) && resourceVersion !== undefined) throw changedMeanwhile();
    throw error;
  }
}

export const steeringRoutes: PeopleRoutes = (app, { client, auth }) => {
  const found = async (
    { person, headers }: Caller,
    region: string,
    key: ObjectKey,
  ): Promise<KubernetesCluster> => {
    await auth.allow(person, onClusters('update', key.namespace, key.name));
    const cluster = await clusterIn(client, region, key);
    refuseOtherVersion(headers, cluster);
    return cluster;
  };

  serve(app, cancelOperation, async ({ params, query, body = {}, person, headers }, reply) => {
    const { region, ...key } = addressOf({ params, query, body });
    const cluster = await found({ person, headers }, region, key);
    const running = cancellable(cluster, body.id);
    const isAsked = cluster.metadata.annotations?.[annotations.cancel] === running.id;
    if (!query.dryRun && !isAsked) await cancel(client, cluster, running, { person, headers });
    if (!query.dryRun) reply.header('location', locationOf(region, key));
    const { id, name, step } = running;
    return { ...ok(), operation: { id, name, step } };
  });

  for (const [route, paused] of [
    [pauseCluster, true],
    [resumeCluster, false],
  ] as const) {
    serve(app, route, async ({ params, query, body = {}, person, headers }) => {
      const { region, ...key } = addressOf({ params, query, body });
      const cluster = await found({ person, headers }, region, key);
      if (!query.dryRun && (cluster.spec.paused ?? false) !== paused)
        await patch(client, cluster, headers, {
          metadata: { annotations: { [annotations.pausedBy]: person.username } },
          spec: { paused },
        });
      return { ...ok(), paused };
    });
  }
};
