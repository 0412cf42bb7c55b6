import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { hostResultsText } from '#operations/host-results.ts';
import { CANCELLED } from '#protocol/report.ts';
import type { Outcome } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';

/** Who cancelled the operation, as far as that is known. */
export const cancelledBy = (
  { metadata }: Snapshot['cluster'],
  { id, cancelledBy: told }: OperationStatus,
): string | undefined =>
  told ??
  (metadata.annotations?.[annotations.cancel] === id
    ? metadata.annotations[annotations.cancelledBy]
    : undefined);

/** The end of an operation that was cancelled: how its run ended, and what each host has and has not. */
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
