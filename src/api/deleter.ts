import type { KubernetesCluster } from './kubernetes-cluster.ts';
import { annotations } from './names.ts';
import { OPERATION_VALUES } from './operation-values.ts';

/** Seconds from the record of a DELETE to the deletion: clocks differ, and a deletionTimestamp has no fractions. */
const [EARLIEST_S, LATEST_S] = [-5, 60];

/** Returns the record that REST writes before it deletes an object for a user. */
export const deletedByOf = (user: string, now: Date): string => `${now.toISOString()} ${user}`;

/**
 * Returns the user who deleted a cluster; undefined if unknown. The API server does not report who sent a DELETE. The user
 * who requested the last operation need not be the one: only the operation annotation, or a record of this very deletion,
 * names the user.
 */
export function deleterOf({ metadata }: KubernetesCluster): string | undefined {
  const marked = metadata.annotations ?? {};
  if (marked[annotations.operation] === OPERATION_VALUES.delete.asked) return marked[annotations.requestedBy];
  const [, time = '', user] = /^(\S+) (.+)$/s.exec(marked[annotations.deletedBy] ?? '') ?? [];
  const seconds = (Date.parse(metadata.deletionTimestamp ?? '') - Date.parse(time)) / 1000;
  return seconds >= EARLIEST_S && seconds <= LATEST_S ? user : undefined;
}
