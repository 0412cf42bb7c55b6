import { comingSpec, isDryRun, presentSpec } from '#api/cluster-facts.ts';
import { canonicalIp, LISTS } from '#api/host.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { operationAsked } from '#api/operation-values.ts';
import { POLICY_DEFAULTS } from '#api/policy.ts';
import { canonicalJson } from '#base/canonical.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Change } from './change.ts';

const annotationOf = ({ metadata }: KubernetesCluster, name: string): string | undefined =>
  metadata.annotations?.[name];

/** Returns address, port, user, labels and taints of each host, one text for each. */
const ways = ({ cluster }: Spec): Set<string> =>
  new Set(
    LISTS.flatMap((list) => cluster[list] ?? []).map(
      ({ ip, port = 22, user = '', labels = {}, taints = [] }) =>
        canonicalJson([canonicalIp(ip) ?? ip, port, user, labels, taints]),
    ),
  );

/** Returns the spare hosts that the operator may reach and wipe by itself, with all their fields. */
const spares = ({ policy }: Spec): Set<string> =>
  new Set((policy?.replaceFrom ?? []).map((host) => canonicalJson({ ...host, ip: canonicalIp(host.ip) })));

/** Whether the operator may use a spare host that it could not use before, or may use one sooner. */
function loosensPolicy(old: Spec, next: Spec): boolean {
  const [known, wanted] = [spares(old), spares(next)];
  const isSooner = (['replaceAfterMinutes', 'replaceAtMostEveryHours'] as const).some(
    (field) =>
      (next.policy?.[field] ?? POLICY_DEFAULTS[field]) < (old.policy?.[field] ?? POLICY_DEFAULTS[field]),
  );
  return (
    [...wanted].some((spare) => !known.has(spare)) ||
    (wanted.size > 0 && isSooner) ||
    letsEditsBegin(old, next) ||
    letsRenew(old, next) ||
    letsSave(old, next)
  );
}

/** Whether the change lets the operator renew certificates by itself, or at other times. */
const letsRenew = (old: Spec, next: Spec): boolean =>
  next.policy?.autoRenew !== undefined &&
  canonicalJson(next.policy.autoRenew) !== canonicalJson(old.policy?.autoRenew ?? null);

/** Whether the change lets the operator save snapshots by itself, or at other times. */
const letsSave = (old: Spec, next: Spec): boolean =>
  next.etcdSnapshots?.schedule !== undefined && next.etcdSnapshots.schedule !== old.etcdSnapshots?.schedule;

/** Whether the change lets edits that remove hosts start by themselves. */
const letsEditsBegin = (old: Spec, next: Spec): boolean =>
  next.policy?.inferDestructive === true && old.policy?.inferDestructive !== true;

/**
 * Whether an edit without an operation annotation starts an operation: compared with the present cluster, or with the result
 * of the operation under way. If the change removes an operation annotation, the spec that came with it is judged.
 */
function startsByEdit(old: KubernetesCluster, next: KubernetesCluster, hosts: Change['hosts']): boolean {
  const wasAsked = operationAsked(annotationOf(old, annotations.operation)) !== undefined;
  const isSame = specHashOf(old.spec) === specHashOf(next.spec) && !letsEditsBegin(old.spec, next.spec);
  if (!wasAsked && isSame) return false;
  return [presentSpec(old, hosts), comingSpec(old, hosts)].some(
    (applied) => applied !== undefined && infer(applied, next.spec).kind === 'operation',
  );
}

/** Whether the change requests a new operation: by the operation annotation, the request-id or the spec. */
export function asksAnew(old: KubernetesCluster, next: KubernetesCluster, hosts: Change['hosts']): boolean {
  const asked = operationAsked(annotationOf(next, annotations.operation));
  // Removing dry-run starts what another user requested, and adding it checks hosts; both need the permission.
  if (isDryRun(old) !== isDryRun(next)) return true;
  // A deletion requires the permission to delete, like `kubectl delete`, and reaches hosts as before.
  if (asked === 'delete' && !isDryRun(next)) return false;
  // A request that a changed plan blocks is released by naming another plan, or none.
  if (annotationOf(old, annotations.plan) !== annotationOf(next, annotations.plan)) return true;
  if (annotationOf(old, annotations.requestId) !== annotationOf(next, annotations.requestId)) return true;
  // A request that waits would restore another snapshot, or begin after a confirmation.
  const restoring = [annotations.snapshot, annotations.confirmDataLossSince];
  if (restoring.some((name) => annotationOf(old, name) !== annotationOf(next, name))) return true;
  if (asked === undefined) return startsByEdit(old, next, hosts);
  const isNewRequest = annotationOf(old, annotations.operation) !== annotationOf(next, annotations.operation);
  return isNewRequest || specHashOf(old.spec) !== specHashOf(next.spec);
}

/**
 * Whether a change makes the operator use the cluster's Secret in a new way: another Secret, another address or user of a
 * host, a newly requested operation, or one that the operator may start by itself.
 */
export function usesSecretAnew({ old, next, hosts }: Pick<Change, 'old' | 'next' | 'hosts'>): boolean {
  if (!old) return true;
  const known = ways(old.spec);
  return (
    old.spec.cluster.credentialsSecret !== next.spec.cluster.credentialsSecret ||
    [...ways(next.spec)].some((way) => !known.has(way)) ||
    loosensPolicy(old.spec, next.spec) ||
    asksAnew(old, next, hosts)
  );
}
