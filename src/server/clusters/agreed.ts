import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import type { Operation } from '#operations/operation.ts';
import type { Plan } from '#operations/plan-for.ts';
import { outlineOf, planChanged, planHash, withSeen } from '#operations/plan-hash.ts';
import { conflict } from '../http/errors.ts';

/** Sequence of the operation that was accepted last; 0 for a cluster that is not there yet. */
export const lastSequence = (cluster: KubernetesCluster | undefined): number =>
  cluster?.status?.operation?.sequence ?? 0;

/** Why the plan is not the one that the request agrees to; undefined when it is, or names none. */
function otherPlan(
  agreed: string | undefined,
  { name }: Operation,
  plan: Plan,
  cluster: KubernetesCluster | undefined,
): string | undefined {
  const after = lastSequence(cluster);
  const known = cluster?.status?.plan?.hash === agreed ? cluster?.status?.plan : undefined;
  if (agreed === undefined || planHash(name, withSeen(plan, known?.seen), after) === agreed) return undefined;
  return planChanged(known, outlineOf(plan, after));
}

/** Throws HttpError 409 with the difference. */
export function refuseOtherPlan(...asked: Parameters<typeof otherPlan>): void {
  const reason = otherPlan(...asked);
  if (reason !== undefined) throw conflict(reason);
}

/** The same as a refusal of a plan. */
export function otherPlanRefusals(...asked: Parameters<typeof otherPlan>): Problem[] {
  const reason = otherPlan(...asked);
  return reason === undefined ? [] : [{ field: 'plan', value: asked[0], reason }];
}
