import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import type { Operation } from '#operations/operation.ts';
import type { Plan } from '#operations/plan-for.ts';
import { outlineOf, planChanged, planHash, withSeen } from '#operations/plan-hash.ts';
import { conflict } from '../http/errors.ts';

/** Returns the sequence of the operation that was accepted last; 0 for a cluster that does not exist yet. */
export const lastSequence = (cluster: KubernetesCluster | undefined): number =>
  cluster?.status?.operation?.sequence ?? 0;

/** Returns why the plan differs from the one that the request approves; undefined if it is the same, or none is named. */
function otherPlan(
  agreed: string | undefined,
  { name }: Operation,
  plan: Plan,
  cluster: KubernetesCluster | undefined,
): string | undefined {
  const after = lastSequence(cluster);
  const known = cluster?.status?.plan?.hash === agreed ? cluster?.status?.plan : undefined;
  const now = planHash(name, withSeen(plan, known?.seen), after);
  if (agreed === undefined || now === agreed) return undefined;
  return `${planChanged(known, outlineOf(plan, after))}; dryRun=All answers the plan of now, with the hash ${now}`;
}

/** Throws HttpError 409 with the difference of the plans. */
export function refuseOtherPlan(...asked: Parameters<typeof otherPlan>): void {
  const reason = otherPlan(...asked);
  if (reason !== undefined) throw conflict(reason, 'plan-changed');
}

/** Returns the same difference as a refusal of a plan. */
export function otherPlanRefusals(...asked: Parameters<typeof otherPlan>): Problem[] {
  const reason = otherPlan(...asked);
  return reason === undefined ? [] : [{ field: 'plan', value: asked[0], reason }];
}
