import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { PlanStatus } from '#api/plan-status.ts';
import { findOperation } from '#operations/index.ts';
import { infer } from '#operations/infer.ts';
import type { Operation } from '#operations/operation.ts';
import { type Plan, planFor } from '#operations/plan-for.ts';
import { outlineOf, planChanged, planHash, withSeen } from '#operations/plan-hash.ts';
import type { Outcome } from './outcome.ts';
import { Refusal } from './refusal.ts';
import type { Snapshot } from './snapshot.ts';

/** A plan that is agreed to: a request that carries its hash begins only while the plan is that one. */

/** Returns the plan of an operation, as it would be accepted now. */
export const presentPlan = (
  { cluster: { spec, status }, applied, hosts, remains, offer }: Snapshot,
  operation: Operation,
): Plan => planFor(operation, { spec, applied, hosts, remains, offer, version: status?.version });

/** The same, of the machines that a dry run has seen, where its hash is the one that was agreed to. */
export function agreedPlan(snapshot: Snapshot, operation: Operation): Plan {
  const plan = presentPlan(snapshot, operation);
  const known = snapshot.cluster.status?.plan;
  return known && known.hash === agreedHash(snapshot) ? withSeen(plan, known.seen) : plan;
}

/** The plan that status goes on telling: what the outcome brings, or the one that was agreed to, whose machines stand nowhere else. */
export function planToTell(snapshot: Snapshot, outcome: Outcome): PlanStatus | undefined {
  if ('plan' in outcome && outcome.plan) return outcome.plan;
  const known = snapshot.cluster.status?.plan;
  return outcome.kind !== 'accept' && known && known.hash === agreedHash(snapshot) ? known : undefined;
}

/** Sequence of the operation that was accepted last. */
export const lastSequence = ({ status }: KubernetesCluster): number => status?.operation?.sequence ?? 0;

/** The hash that stands beside the request; undefined for none, and for one that stood there at the last acceptance. */
export function agreedHash({ cluster, operation }: Snapshot): string | undefined {
  const hash = cluster.metadata.annotations?.[annotations.plan] ?? '';
  return hash === '' || hash === operation?.plan ? undefined : hash;
}

/** The operation that is asked, by word or by an edit. */
function pending({ request, applied, cluster }: Snapshot): Operation | undefined {
  if (request) return findOperation(request.operation);
  const inference = applied && infer(applied, cluster.spec);
  return inference?.kind === 'operation' ? inference.operation : undefined;
}

/** Whether what is asked may begin as far as anybody has agreed to its plan: it is the same, or none was named. */
export function isAgreed(snapshot: Snapshot): boolean {
  const hash = agreedHash(snapshot);
  const operation = hash === undefined ? undefined : pending(snapshot);
  if (!operation) return true;
  return planHash(operation.name, agreedPlan(snapshot, operation), lastSequence(snapshot.cluster)) === hash;
}

/**
 * Throws Refusal `PlanChanged` where what another cluster has left on a host would be wiped under an agreed plan that does
 * not say so: that cluster has given the host up since.
 */
export function refuseUnagreed({ operation, plan }: Snapshot, ip: string, remains: string): void {
  const planned = plan?.hosts.find(({ member }) => member.ip === ip)?.reclaim;
  if (operation?.plan === undefined || planned !== undefined) return;
  const message = `the plan that was agreed to does not wipe what cluster ${remains} has left on ${ip}; plan it anew`;
  throw new Refusal('PlanChanged', message);
}

/** The rule for what is asked under a plan that is another by now. */
export function notAgreed(snapshot: Snapshot): Outcome {
  const operation = pending(snapshot);
  if (!operation) return { kind: 'rest' };
  const { plan } = snapshot.cluster.status ?? {};
  // What it was agreed to stays on record for as long as somebody must look at it.
  const known = plan?.hash === agreedHash(snapshot) ? plan : undefined;
  const now = outlineOf(presentPlan(snapshot, operation), lastSequence(snapshot.cluster));
  const message = `${planChanged(known, now)}; plan it anew, then name that plan in annotation ${annotations.plan}, or none`;
  return { kind: 'rest', stall: { reason: 'PlanChanged', message }, ...(known ? { plan: known } : {}) };
}
