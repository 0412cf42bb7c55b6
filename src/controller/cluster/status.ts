import type { ClusterStatus, KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Outcome } from './decide/outcome.ts';
import type { Snapshot } from './decide/snapshot.ts';
import { statusAfter } from './decide/status/status.ts';

/** Writes the status of the outcome, if it differs. Throws Conflict if the object has changed since the snapshot. */
export async function writeStatus(
  client: Client,
  snapshot: Snapshot,
  outcome: Outcome,
  accepted?: OperationStatus,
): Promise<KubernetesCluster | undefined> {
  const { cluster } = snapshot;
  // A deleted object that never had a status gets none.
  if (!cluster.status && cluster.metadata.deletionTimestamp && outcome.kind === 'rest' && !outcome.stall)
    return undefined;
  const status: ClusterStatus = statusAfter(snapshot, outcome, accepted);
  if (canonicalJson(status) === canonicalJson(cluster.status)) return undefined;
  return client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });
}

/** Marks the record of an operation that did not succeed as complete. Throws if the API server drops the field. */
export async function setRecorded(
  client: Client,
  cluster: KubernetesCluster,
  operation: OperationStatus | undefined,
): Promise<void> {
  if (!operation) return;
  const status = { ...cluster.status, operation: { ...operation, recorded: true } };
  const written = await client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });
  if (!written.status?.operation?.recorded)
    throw new Error('the API server drops status.operation.recorded: apply crds/ of this version');
}
