import { ownerReferenceTo } from '#api/cluster-facts.ts';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import type { OperationName } from '#api/operation-values.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { findOperation } from '#operations/index.ts';
import { differenceOf, planOnRecord, resultOnRecord } from '#operations/plan-and-result.ts';
import type { Report } from '#protocol/report.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { cancelledBy } from '../decide/cancelled.ts';
import type { FrozenPlan } from '../decide/frozen-plan.ts';
import { jobName } from '../decide/work/rules.ts';
import { createOrMerge } from './create-or-merge.ts';

/** The key with the result of each host; clients depend on its name. */
const RESULT_KEY = 'deed';

/**
 * Writes the record of an operation, a ConfigMap `kube-<operation>-<id>` beside the cluster. It is for users and the
 * controller never reads it. A namespace that accepts no new objects is therefore no reason to stop.
 */
export async function writeRecord(
  client: Client,
  cluster: KubernetesCluster,
  operation: OperationStatus,
  { plan, report }: { plan: FrozenPlan | undefined; report: Report | undefined },
  result: string,
  log: Logger,
): Promise<void> {
  const { namespace = '' } = cluster.metadata;
  const prefix = findOperation(operation.name)?.prefix ?? operation.name;
  const by = operation.result === 'cancelled' ? cancelledBy(cluster, operation) : undefined;
  const record = {
    metadata: {
      namespace,
      name: `kube-${prefix}-${operation.id}`,
      labels: {
        [labels.purpose]: 'record',
        [labels.clusterId]: cluster.metadata.annotations?.[annotations.clusterId] ?? '',
      },
      ownerReferences: [ownerReferenceTo(cluster)],
    },
    data: {
      'job-name': jobName(prefix, operation),
      operation: operation.name,
      sequence: String(operation.sequence),
      'requested-by': operation.requestedBy ?? (operation.name === 'delete' ? 'unknown' : 'annotation'),
      'request-id': operation.requestId,
      'started-at': operation.startedAt,
      ...(operation.endedAt === undefined ? {} : { 'ended-at': operation.endedAt }),
      attempt: String(operation.attempt),
      spec: JSON.stringify(operation.spec, null, 2),
      result,
      message: result === 'running' ? '' : (cluster.status?.message ?? ''),
      ...(by === undefined ? {} : { 'cancelled-by': by }),
      // At the end the plan may be gone; the plan that was written at the beginning stays.
      ...(plan ? { plan: JSON.stringify(planOnRecord(plan)) } : {}),
      ...(report ? { [RESULT_KEY]: JSON.stringify(resultOnRecord(report)) } : {}),
      ...(plan && result !== 'running' ? { difference: differenceBetween(plan, report, operation) } : {}),
      hosts: JSON.stringify(cluster.status?.hosts ?? []),
    },
  } satisfies ConfigMap;
  try {
    await createOrMerge(client, CONFIG_MAPS, record, result !== 'running');
  } catch (error) {
    if (!isApiError(error, 'Forbidden', 'Invalid', 'NotFound')) throw error;
    log.warn({ record: record.metadata.name, error: messageOf(error) }, 'the record could not be written');
  }
}

/** Returns one sentence a line; empty if the run did what was planned. */
function differenceBetween(
  plan: FrozenPlan,
  report: Report | undefined,
  { result }: OperationStatus,
): string {
  if (report) return differenceOf(plan, report).join('\n');
  return result === 'finished' ? 'the report of its run was lost' : 'no run of it reported';
}

/** Removes the record of an old operation, if the cluster owns it. */
export async function removeRecord(
  client: Client,
  cluster: KubernetesCluster,
  operation: OperationName,
  id: string,
): Promise<void> {
  const { namespace = '', uid: owner = '' } = cluster.metadata;
  const key = { namespace, name: `kube-${findOperation(operation)?.prefix ?? operation}-${id}` };
  try {
    const found = await client.find<ConfigMap>(CONFIG_MAPS, key);
    const ours = found?.metadata.ownerReferences?.some(({ uid }) => uid === owner);
    if (!found || !ours || found.metadata.labels?.[labels.purpose] !== 'record') return;
    const { uid } = found.metadata;
    await client.delete(CONFIG_MAPS, key, { preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, 'Forbidden', 'NotFound')) throw error;
  }
}
