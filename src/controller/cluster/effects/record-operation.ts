import { keyOf, operationIdOf, textOf } from '#api/cluster-facts.ts';
import type { KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { placeOfOperation, type Span } from '#tracing/span.ts';
import { removeRecord, writeRecord } from '../state/records.ts';
import type { Perform } from './effect.ts';

/** Writes the record (ConfigMap) of the operation, for users. */
export const recordOperation: Perform<'record'> = async (
  { result },
  { cluster, operation, plan, attempt, now },
  { client, log, addSpan },
) => {
  const report = 'report' in attempt ? attempt.report : undefined;
  if (!operation) return;
  await writeRecord(client, cluster, operation, { plan, report }, result, log);
  if (result !== 'running') addSpan?.(spanOf(cluster, operation, result, now));
};

/** Returns the span of an operation, below that of its request. */
const spanOf = (
  { metadata: { namespace, name } }: KubernetesCluster,
  operation: OperationStatus,
  result: string,
  now: Date,
): Span => ({
  ...placeOfOperation(operation),
  name: operation.name,
  kind: 'internal',
  startMs: Date.parse(operation.startedAt),
  endMs: operation.endedAt === undefined ? now.getTime() : Date.parse(operation.endedAt),
  attributes: {
    'matryoshka.cluster': `${namespace}/${name}`,
    'matryoshka.operation': operation.id,
    'matryoshka.attempts': operation.attempt,
    'matryoshka.result': result,
  },
  isError: result === 'failed',
});

/** Removes records and logs of operations beyond spec.history. */
export const pruneHistory: Perform<'prune'> = async (
  { records, upTo },
  { cluster, clusterId },
  { client, installer },
) => {
  await installer.forget(textOf(keyOf(cluster)), upTo);
  for (const { sequence, operations } of records)
    for (const operation of operations)
      await removeRecord(client, cluster, operation, operationIdOf(clusterId, sequence));
};
