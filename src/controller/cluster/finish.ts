import type { ClusterStatus, KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { canonicalJson, shortHash } from '#base/canonical.ts';
import { type Offer, resolveSpec } from '#operations/resolve.ts';
import type { Client } from '#runtime/client.ts';
import type { Anchors } from './anchors.ts';
import type { Outcome } from './outcome.ts';
import type { Snapshot } from './snapshot.ts';
import { statusAfter } from './status.ts';

/** The operation that an accepted request becomes; its sequence is taken in the anchor first, for good. */
export async function acceptedOperation(
  snapshot: Snapshot,
  outcome: Extract<Outcome, { kind: 'accept' }>,
  { anchors, offer }: { anchors: Anchors; offer: Offer },
): Promise<OperationStatus> {
  const { clusterId, cluster, now } = snapshot;
  const sequence = await anchors.takeSequence(clusterId, cluster);
  const { word, requestId, specHash } = outcome.request;
  return {
    id: shortHash(`${clusterId}/${sequence}`),
    name: outcome.operation,
    sequence,
    attempt: 1,
    word,
    requestId,
    specHash,
    generation: cluster.metadata.generation ?? 0,
    spec: resolveSpec(cluster.spec, offer, cluster.status?.version),
    step: 'starting',
    startedAt: now.toISOString(),
  };
}

/** Writes the status that tells the outcome, if it differs; Conflict when the object has changed since. */
export async function writeStatus(
  client: Client,
  snapshot: Snapshot,
  outcome: Outcome,
  accepted?: OperationStatus,
): Promise<KubernetesCluster | undefined> {
  const { cluster } = snapshot;
  // Of an object that nobody has asked anything of there is nothing to say; whoever makes it may still be at it.
  if (!cluster.status && outcome.kind === 'rest' && !outcome.stall) return undefined;
  const status: ClusterStatus = statusAfter(snapshot, outcome, accepted);
  if (canonicalJson(status) === canonicalJson(cluster.status)) return undefined;
  return client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });
}
