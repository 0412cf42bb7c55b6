import { comingSpec, isDryRun, presentSpec } from '#api/cluster-facts.ts';
import { canonicalIp, LISTS } from '#api/host.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { POLICY_DEFAULTS } from '#api/policy.ts';
import { operationAsked } from '#api/words.ts';
import { canonicalJson } from '#base/canonical.ts';
import { infer } from '#operations/infer.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Change } from './change.ts';

const mark = ({ metadata }: KubernetesCluster, name: string): string | undefined =>
  metadata.annotations?.[name];

/** Address, port, user, labels and taints of each host, one text per host. */
const ways = ({ cluster }: Spec): Set<string> =>
  new Set(
    LISTS.flatMap((list) => cluster[list] ?? []).map(
      ({ ip, port = 22, user = '', labels = {}, taints = [] }) =>
        canonicalJson([canonicalIp(ip) ?? ip, port, user, labels, taints]),
    ),
  );

/** Each spare host that the operator may reach, and wipe, by itself; all that is said of it counts. */
const spares = ({ policy }: Spec): Set<string> =>
  new Set((policy?.replaceFrom ?? []).map((host) => canonicalJson({ ...host, ip: canonicalIp(host.ip) })));

/** Whether the operator may take a spare host that it might not take before, or take one sooner. */
function loosensPolicy(old: Spec, next: Spec): boolean {
  const [known, wanted] = [spares(old), spares(next)];
  const isSooner = (['replaceAfterMinutes', 'replaceAtMostEveryHours'] as const).some(
    (field) =>
      (next.policy?.[field] ?? POLICY_DEFAULTS[field]) < (old.policy?.[field] ?? POLICY_DEFAULTS[field]),
  );
  return (
    [...wanted].some((spare) => !known.has(spare)) ||
    (wanted.size > 0 && isSooner) ||
    letsEditsBegin(old, next)
  );
}

/** Whether edits that take hosts out begin by themselves from now on. */
const letsEditsBegin = (old: Spec, next: Spec): boolean =>
  next.policy?.inferDestructive === true && old.policy?.inferDestructive !== true;

/**
 * Whether an edit without a word starts an operation: from what the cluster is, or from what the operation under way
 * makes of it. A word that is taken away leaves the spec to be judged that came with it.
 */
function startsByEdit(old: KubernetesCluster, next: KubernetesCluster, hosts: Change['hosts']): boolean {
  const wasAsked = operationAsked(mark(old, annotations.operation)) !== undefined;
  const isSame = specHashOf(old.spec) === specHashOf(next.spec) && !letsEditsBegin(old.spec, next.spec);
  if (!wasAsked && isSame) return false;
  return [presentSpec(old, hosts), comingSpec(old, hosts)].some(
    (applied) => applied !== undefined && infer(applied, next.spec).kind === 'operation',
  );
}

/** Whether the change asks for an operation that was not asked before: by its word, its request-id or its spec. */
export function asksAnew(old: KubernetesCluster, next: KubernetesCluster, hosts: Change['hosts']): boolean {
  const asked = operationAsked(mark(next, annotations.operation));
  // What was asked by one is let go by another, or its hosts are looked at.
  if (isDryRun(old) !== isDryRun(next)) return true;
  // A deletion takes the right to delete, as `kubectl delete` does, and reaches hosts as it did before.
  if (asked === 'delete' && !isDryRun(next)) return false;
  // What waits under a plan that is another by now is let go by whoever names another plan, or none.
  if (mark(old, annotations.plan) !== mark(next, annotations.plan)) return true;
  if (mark(old, annotations.requestId) !== mark(next, annotations.requestId)) return true;
  if (asked === undefined) return startsByEdit(old, next, hosts);
  const isNewWord = mark(old, annotations.operation) !== mark(next, annotations.operation);
  return isNewWord || specHashOf(old.spec) !== specHashOf(next.spec);
}

/**
 * Whether a change makes the operator use the cluster's Secret in a way that was not allowed before: another Secret,
 * another way to a host, an operation that is asked anew, or one that the operator may begin by itself.
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
