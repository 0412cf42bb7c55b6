import { keyOf, operationIdOf, withoutHosts } from '#api/cluster-facts.ts';
import { deleterOf } from '#api/deleter.ts';
import type { ClusterStatus, KubernetesCluster, OperationStatus } from '#api/kubernetes-cluster.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import { findOperation } from '#operations/index.ts';
import type { Client } from '#runtime/client/client.ts';
import { agreedPlan } from './decide/approved-plan.ts';
import type { Outcome } from './decide/outcome.ts';
import type { Snapshot } from './decide/snapshot.ts';
import { statusAfter } from './decide/status/status.ts';
import type { Anchors } from './state/cluster-state.ts';
import { readHooks } from './state/hooks.ts';
import { manifestVars } from './state/manifests.ts';

/**
 * The operation that an accepted request becomes. Its sequence is taken in the anchor first, for good, and with it its
 * plan is written there: what the operation does is what was planned when it was accepted.
 */
export async function acceptedOperation(
  snapshot: Snapshot,
  outcome: Extract<Outcome, { kind: 'accept' }>,
  { anchors, client }: { anchors: Anchors; client: Client },
): Promise<OperationStatus> {
  const { clusterId, cluster, now } = snapshot;
  const operation = findOperation(outcome.operation);
  if (!operation) throw new Error(`there is no operation ${outcome.operation} (${keyOf(cluster).name})`);
  const plan = agreedPlan(snapshot, operation);
  // Of what is refused anyhow nothing is read. A file that is not as it was asked for lets nothing begin.
  if (plan.refusals.length === 0) {
    await manifestVars(client, cluster, plan.target, plan.steps);
    await readHooks(client, cluster, plan.hooks);
  }
  const { [annotations.plan]: agreed, [annotations.requestedBy]: asker } = cluster.metadata.annotations ?? {};
  const by = outcome.requestedBy ?? (outcome.operation === 'delete' ? deleterOf(cluster) : asker);
  const sequence = await anchors.takeSequence(clusterId, cluster, (taken) => ({
    sequence: taken,
    hosts: [...plan.hosts],
    release: [...plan.release],
    steps: [...plan.steps],
    hooks: [...plan.hooks],
    refusals: plan.refusals.map(({ field, reason }) => ({ field, reason })),
  }));
  const { word, requestId, specHash } = outcome.request;
  return {
    id: operationIdOf(clusterId, sequence),
    name: outcome.operation,
    sequence,
    attempt: 1,
    word,
    requestId,
    specHash,
    generation: cluster.metadata.generation ?? 0,
    spec: withoutHosts(plan.target),
    step: 'starting',
    ...(agreed === undefined ? {} : { plan: agreed }),
    ...(by === undefined ? {} : { requestedBy: by.slice(0, MAX_USER) }),
    startedAt: now.toISOString(),
  };
}

/** Users have shorter names; the annotation is anybody's where no webhook is. */
const MAX_USER = 253;

/** Writes the status that tells the outcome, if it differs; Conflict when the object has changed since. */
export async function writeStatus(
  client: Client,
  snapshot: Snapshot,
  outcome: Outcome,
  accepted?: OperationStatus,
): Promise<KubernetesCluster | undefined> {
  const { cluster } = snapshot;
  // An object that goes, and was never ours, hears nothing of us.
  if (!cluster.status && cluster.metadata.deletionTimestamp && outcome.kind === 'rest' && !outcome.stall)
    return undefined;
  const status: ClusterStatus = statusAfter(snapshot, outcome, accepted);
  if (canonicalJson(status) === canonicalJson(cluster.status)) return undefined;
  return client.updateStatus<KubernetesCluster>(KUBERNETES_CLUSTERS, { ...cluster, status });
}
