import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { hostResultsText } from '#operations/host-results.ts';
import { CANCELLED } from '#protocol/report.ts';
import type { Outcome } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

/** Returns the user who cancelled the operation, if that is known. */
export const cancelledBy = (
  { metadata }: Snapshot['cluster'],
  { id, cancelledBy: reported }: OperationStatus,
): string | undefined =>
  reported ??
  (metadata.annotations?.[annotations.cancel] === id
    ? metadata.annotations[annotations.cancelledBy]
    : undefined);

/** Returns the end of a cancelled operation: the end of its run, and the result of each host. */
export function cancelled(
  { cluster, attempt, plan }: Pick<Snapshot, 'cluster' | 'attempt' | 'plan'>,
  status: OperationStatus,
  how: string,
): Outcome {
  const by = cancelledBy(cluster, status);
  const report = attempt.kind === 'failed' ? attempt.report : undefined;
  const hosts = report && plan ? hostResultsText(plan.hosts, report) : '';
  const message = `cancelled${by === undefined ? '' : ` by ${by}`}: ${how}${hosts === '' ? '' : `; ${hosts}`}`;
  return { kind: 'end', result: 'cancelled', reason: CANCELLED, message };
}
