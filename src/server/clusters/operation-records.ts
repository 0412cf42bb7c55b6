import { z } from 'zod';
import { isDryRun, operationIdOf } from '#api/cluster-facts.ts';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { type KubernetesCluster, MAX_HISTORY } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { operationAsked } from '#api/operation-values.ts';
import { type OperationDetail, type RecordedOperation, recordedOperation } from '#rest/history.ts';
import type { Client } from '#runtime/client/client.ts';

/** Reads records of operations, which the controller writes for users (docs/reference/requests.md). */

const count = z.coerce.number().pipe(z.int().min(1));
/** The operator makes no further attempt. */
const attemptSchema = z.coerce.number().pipe(z.int().min(1).max(3));

function json(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const { plan: planSchema, hosts: hostsSchema } = recordedOperation.shape;
const resultSchema = z
  .looseObject({ hosts: hostsSchema.catch(undefined) })
  .optional()
  .catch(undefined);

/**
 * Returns a record as REST shows it; undefined if it is not one of this cluster: a user may write ConfigMaps, and the id that
 * belongs to a sequence names the Jobs whose log is shown.
 */
function detailOf(
  { metadata, data = {} }: ConfigMap,
  { uid, clusterId, last }: Owner,
): RecordedOperation | undefined {
  if (!metadata.ownerReferences?.some((owner) => owner.uid === uid)) return undefined;
  const sequence = count.safeParse(data['sequence']);
  const attempt = attemptSchema.safeParse(data['attempt']);
  if (!sequence.success || !attempt.success || sequence.data > last) return undefined;
  const id = operationIdOf(clusterId, sequence.data);
  const detail = recordedOperation.safeParse({
    id,
    operation: data['operation'],
    sequence: sequence.data,
    result: data['result'],
    requestId: data['request-id'] || undefined,
    requestedBy: data['requested-by'],
    cancelledBy: data['cancelled-by'],
    startedAt: data['started-at'],
    endedAt: data['ended-at'],
    attempt: attempt.data,
    message: data['message'] || undefined,
    plan: planSchema.catch(undefined).parse(json(data['plan'])),
    hosts: resultSchema.parse(json(data['deed']))?.hosts,
    difference: data['difference']?.split('\n').filter((line) => line !== ''),
  });
  return detail.success && metadata.name?.endsWith(`-${id}`) ? detail.data : undefined;
}

interface Owner {
  uid: string;
  clusterId: string;
  /** Sequence of its last operation. */
  last: number;
}

/**
 * Returns the cluster as the owner of records; undefined if it has had no operation. A user may create an object with the id
 * of another cluster. The controller, which alone writes status, refuses operations of such an object.
 */
function ownerIn({ metadata, status }: KubernetesCluster): Owner | undefined {
  const { uid } = metadata;
  const clusterId = metadata.annotations?.[annotations.clusterId];
  const { id, sequence: last } = status?.operation ?? {};
  if (uid === undefined || clusterId === undefined || last === undefined) return undefined;
  return id === operationIdOf(clusterId, last) ? { uid, clusterId, last } : undefined;
}

/** Returns the operations of a cluster that have a record, the newest first. */
export async function recordedOperations(
  client: Client,
  cluster: KubernetesCluster,
): Promise<RecordedOperation[]> {
  const owner = ownerIn(cluster);
  if (!owner) return [];
  const { namespace } = cluster.metadata;
  const labelSelector = `${labels.purpose}=record,${labels.clusterId}=${owner.clusterId}`;
  const { items } = await client.list<ConfigMap>(CONFIG_MAPS, {
    namespace,
    labelSelector,
    limit: 2 * MAX_HISTORY,
  });
  return items
    .flatMap((record) => detailOf(record, owner) ?? [])
    .sort((one, other) => other.sequence - one.sequence);
}

/**
 * Returns the recorded operation with that id, or the first one with that request-id; undefined if there is none. An operation
 * that was not requested by REST keeps the request-id of the one before it.
 */
export async function findOperation(
  client: Client,
  cluster: KubernetesCluster,
  id: string,
): Promise<RecordedOperation | undefined> {
  const recorded = await recordedOperations(client, cluster);
  return recorded.find((one) => one.id === id) ?? recorded.findLast((one) => one.requestId === id);
}

/**
 * Returns the operation of that request as status shows it before there is a record; one that has not begun has the id of its
 * request.
 */
export function operationOf(cluster: KubernetesCluster, requestId: string): OperationDetail | undefined {
  const { metadata, status } = cluster;
  const present = status?.operation;
  const marked = metadata.annotations ?? {};
  const operation = operationAsked(marked[annotations.operation]);
  if (operation === undefined || marked[annotations.requestId] !== requestId || isDryRun(cluster))
    return undefined;
  const common = { operation, requestId, requestedBy: marked[annotations.requestedBy] };
  if (present?.requestId !== requestId)
    return {
      ...common,
      id: requestId,
      sequence: (present?.sequence ?? 0) + 1,
      result: 'waiting',
      attempt: 0,
    };
  const { id, sequence, result = 'running', startedAt, attempt } = present;
  return { ...common, id, sequence, result, startedAt, attempt };
}
