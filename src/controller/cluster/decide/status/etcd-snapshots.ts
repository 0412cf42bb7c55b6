import type { ClusterStatus, EtcdSnapshotsStatus, OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Snapshot } from '../snapshot.ts';

/** Returns the list of snapshots after an operation that saves one has ended; the present list otherwise. */
export function etcdSnapshotsAfter(
  { attempt, now, cluster }: Pick<Snapshot, 'attempt' | 'now' | 'cluster'>,
  operation: OperationStatus | undefined,
): Pick<ClusterStatus, 'etcdSnapshots'> {
  const old: EtcdSnapshotsStatus | undefined = cluster.status?.etcdSnapshots;
  const endsNow = operation?.result !== undefined && cluster.status?.operation?.result === undefined;
  if (operation?.name !== 'snapshot' || !endsNow) return old ? { etcdSnapshots: old } : {};
  const report = attempt.kind === 'succeeded' ? attempt.report?.snapshots : undefined;
  if (operation.result === 'finished' && report) return { etcdSnapshots: { stored: report.stored } };
  if (operation.result === 'failed')
    return { etcdSnapshots: { stored: old?.stored ?? [], failedAt: now.toISOString() } };
  return old ? { etcdSnapshots: old } : {};
}
