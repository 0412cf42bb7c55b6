import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import type { Operation } from '#operations/operation.ts';
import { type Plan, planFor, restoreIn } from '#operations/plan-for.ts';
import { outlineOf, planChanged, planHash, withSeen } from '#operations/plan-hash.ts';
import type { Outcome } from './outcome.ts';
import { Refusal } from './refusal.ts';
import type { Snapshot } from './snapshot.ts';

/** An approved plan: a request that carries a plan hash begins only while the plan still has that hash. */

/** Returns the plan of an operation, as it would be accepted now. */
export const presentPlan = (
  { cluster, applied, hosts, remains, offer }: Snapshot,
  operation: Operation,
): Plan =>
  planFor(operation, {
    ...{ spec: cluster.spec, applied, hosts, remains, offer },
    version: cluster.status?.version,
    restore: restoreIn(cluster),
    requests: cluster.status?.requests,
  });

/** Returns the present plan; adds the machines that the dry run found if the approved hash is the dry run's. */
export function agreedPlan(snapshot: Snapshot, operation: Operation): Plan {
  const plan = presentPlan(snapshot, operation);
  const known = snapshot.cluster.status?.plan;
  return known && known.hash === agreedHash(snapshot) ? withSeen(plan, known.seen) : plan;
}

/** Returns the plan that status shows next: the outcome's plan, or the approved one. No other place keeps its machines. */
export function planToReport(snapshot: Snapshot, outcome: Outcome): PlanStatus | undefined {
  if ('plan' in outcome && outcome.plan) return outcome.plan;
  const known = snapshot.cluster.status?.plan;
  return outcome.kind !== 'accept' && known && known.hash === agreedHash(snapshot) ? known : undefined;
}

/** Returns the sequence of the operation that was accepted last. */
export const lastSequence = ({ status }: KubernetesCluster): number => status?.operation?.sequence ?? 0;

/** Returns the plan hash beside the request. Undefined if there is none, or if the last accepted operation used it. */
export function agreedHash({ cluster, operation }: Snapshot): string | undefined {
  const hash = cluster.metadata.annotations?.[annotations.plan] ?? '';
  return hash === '' || hash === operation?.plan ? undefined : hash;
}

/** Returns the operation that the annotation or an edit asks for. */
function pending({ request, applied, cluster }: Snapshot): Operation | undefined {
  if (request) return findOperation(request.operation);
  const inference = applied && infer(applied, cluster.spec);
  return inference?.kind === 'operation' ? inference.operation : undefined;
}

/** Whether the requested operation may begin: the plan has the approved hash, or no hash was named. */
export function isAgreed(snapshot: Snapshot): boolean {
  const hash = agreedHash(snapshot);
  const operation = hash === undefined ? undefined : pending(snapshot);
  if (!operation) return true;
  return planHash(operation.name, agreedPlan(snapshot, operation), lastSequence(snapshot.cluster)) === hash;
}

/**
 * Throws Refusal `PlanChanged` if the run would wipe what another cluster left on a host, and the approved plan does not say
 * so. The other cluster released the host after the approval.
 */
export function refuseUnagreed({ operation, plan }: Snapshot, ip: string, remains: string): void {
  const planned = plan?.hosts.find(({ member: host }) => host.ip === ip)?.reclaim;
  if (operation?.plan === undefined || planned !== undefined) return;
  const message = `the approved plan does not wipe what cluster ${remains} has left on ${ip}; plan it anew`;
  throw new Refusal('PlanChanged', message);
}

/** Returns the outcome of a request whose plan changed after its approval. */
export function notAgreed(snapshot: Snapshot): Outcome {
  const operation = pending(snapshot);
  if (!operation) return { kind: 'rest' };
  const { plan } = snapshot.cluster.status ?? {};
  // The approved plan stays in status until the user has compared the two.
  const known = plan?.hash === agreedHash(snapshot) ? plan : undefined;
  const now = outlineOf(presentPlan(snapshot, operation), lastSequence(snapshot.cluster));
  const message = `${planChanged(known, now)}; plan it anew, then name that plan in annotation ${annotations.plan}, or none`;
  return { kind: 'rest', stall: { reason: 'PlanChanged', message }, ...(known ? { plan: known } : {}) };
}
