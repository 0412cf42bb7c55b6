import { keyOf, operationIdOf, textOf } from '#api/cluster-facts.ts';
import { removeRecord, writeRecord } from '../state/records.ts';
import type { Perform } from './effect.ts';

/** Writes the record (ConfigMap) of the operation, for users. */
export const recordOperation: Perform<'record'> = async (
  { result },
  { cluster, operation, plan, attempt },
  { client, log },
) => {
  const report = 'report' in attempt ? attempt.report : undefined;
  if (operation) await writeRecord(client, cluster, operation, { plan, report }, result, log);
};

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
