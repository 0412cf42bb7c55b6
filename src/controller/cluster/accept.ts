import { keyOf, operationIdOf, withoutHosts } from '#api/cluster-facts.ts';
import { deleterOf } from '#api/deleter.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { findOperation } from '#operations/index.ts';
import type { Client } from '#runtime/client/client.ts';
import { agreedPlan } from './decide/approved-plan.ts';
import type { Outcome } from './decide/outcome.ts';
import type { Snapshot } from './decide/snapshot.ts';
import type { ClusterStates } from './state/cluster-state.ts';
import { readHooks } from './state/hooks.ts';
import { manifestVars } from './state/manifests.ts';

/**
 * Turns an accepted request into an operation. The sequence is taken in the cluster state Secret first and is never reused.
 * The plan is stored there with it, so the operation does what was planned at its acceptance.
 */
export async function acceptedOperation(
  snapshot: Snapshot,
  outcome: Extract<Outcome, { kind: 'accept' }>,
  { clusterStates, client }: { clusterStates: ClusterStates; client: Client },
): Promise<OperationStatus> {
  const { clusterId, cluster, now } = snapshot;
  const operation = findOperation(outcome.operation);
  if (!operation) throw new Error(`there is no operation ${outcome.operation} (${keyOf(cluster).name})`);
  const plan = agreedPlan(snapshot, operation);
  // A refused plan needs no files. A file whose checksum differs from the spec's throws here, so nothing begins.
  if (plan.refusals.length === 0) {
    await manifestVars(client, cluster, plan.target, plan.steps);
    await readHooks(client, cluster, plan.hooks);
  }
  const { [annotations.plan]: agreed, [annotations.requestedBy]: asker } = cluster.metadata.annotations ?? {};
  const by = outcome.requestedBy ?? (outcome.operation === 'delete' ? deleterOf(cluster) : asker);
  const sequence = await clusterStates.takeSequence(clusterId, cluster, (taken) => ({
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
    ...(plan.snapshot === undefined ? {} : { snapshot: plan.snapshot }),
    ...(operation.snapshot === 'save' ? { phaseBefore: cluster.status?.phase ?? operation.ends } : {}),
    ...(by === undefined ? {} : { requestedBy: by.slice(0, MAX_USER) }),
    startedAt: now.toISOString(),
  };
}

/** Kubernetes users have shorter names; without the webhook anyone can write the annotation. */
const MAX_USER = 253;
