import { secretUseOf } from '#access/access.ts';
import { onClusters, onHooks, onKubeconfig, onManifests } from '#access/permissions.ts';
import { isDryRun, operationUnderWay } from '#api/cluster-facts.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
} from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/operation-values.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { ok } from '#rest/answers.ts';
import { approvePlan, cancelOperation, pauseCluster, resumeCluster } from '#rest/steering.ts';
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
    throw conflict(`${name} is being deleted, which cannot be cancelled`, 'nothing-to-cancel');
  if (!running)
    throw conflict(`${name} has no operation under way; there is nothing to cancel`, 'nothing-to-cancel');
  if (id !== undefined && id !== running.id)
    throw conflict(
      `${name} has another operation under way: ${running.id} (${running.word}), not ${id}`,
      'nothing-to-cancel',
    );
  return running;
}

/** Returns the plan that waits for an approval. Throws HttpError 409 if there is none, or if it is not `hash`. */
function approvable(cluster: KubernetesCluster, hash: string | undefined): PlanStatus {
  const name = `cluster "${cluster.metadata.name}"`;
  const { plan } = cluster.status ?? {};
  if (!isDryRun(cluster)) throw conflict(`${name} has no dry run whose plan waits`, 'no-plan');
  const requestId = cluster.metadata.annotations?.[annotations.requestId] ?? '';
  if (!plan || plan.result === 'Checking' || plan.requestId !== requestId)
    throw conflict(`the plan of ${name} is still being made; try again in a moment`, 'no-plan');
  if (plan.result === 'Refused') throw conflict(`the plan of ${name} is refused: ${plan.message}`, 'no-plan');
  if (hash !== undefined && hash !== plan.hash)
    throw conflict(`the plan of ${name} has the hash ${plan.hash}; read it again`, 'plan-changed');
  return plan;
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

  serve(app, approvePlan, async ({ params, query, body = {}, person, headers }, reply) => {
    const { region, ...key } = addressOf({ params, query, body });
    // The webhook trusts writes of the server. The plan may be of any operation, so all rights of a request are needed.
    await auth.allow(person, onKubeconfig(key.namespace, key.name));
    const cluster = await found({ person, headers }, region, key);
    await auth.allowSecret(person, secretUseOf(cluster, key.namespace));
    const { spec } = cluster;
    for (const permission of [...onHooks(spec, key), ...onManifests(spec, key)])
      await auth.allow(person, permission);
    if (operationAsked(cluster.metadata.annotations?.[annotations.operation]) === 'delete')
      await auth.allow(person, onClusters('delete', key.namespace, key.name));
    const { hash, operation } = approvable(cluster, body.plan);
    if (!query.dryRun) {
      await patch(client, cluster, headers, {
        metadata: {
          annotations: {
            [annotations.dryRun]: null,
            [annotations.plan]: hash,
            [annotations.requestedBy]: person.username,
          },
        },
      });
      reply.header('location', locationOf(region, key));
    }
    return { ...ok(), plan: hash, operation };
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
