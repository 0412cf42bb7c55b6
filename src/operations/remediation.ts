import type { HostEntry } from '#api/host.ts';
import type { ClusterSpec, Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import { exchanged } from './replace.ts';

/** The only edit of a spec that the operator makes by itself, as `spec.policy` demands. */
export interface Remediation {
  /** The lists of `spec.cluster` that name the absent host, with the spare in its place. */
  change: Partial<ClusterSpec>;
  /** `spec.policy.replaceFrom` without the spare: each is used once. */
  replaceFrom: HostEntry[];
}

/** Returns the edit that puts a spare of the policy in the place of a host. */
export function editFor(spec: Spec, from: string, spare: HostEntry): Remediation {
  const { change } = exchanged({ spec, applied: undefined }, from, spare);
  return { change, replaceFrom: (spec.policy?.replaceFrom ?? []).filter((host) => host !== spare) };
}

/** Returns the spec after the edit. */
export const remedied = (spec: Spec, { change, replaceFrom }: Remediation): Spec => ({
  ...spec,
  cluster: { ...spec.cluster, ...change },
  policy: { ...spec.policy, replaceFrom },
});

const missingIn = (
  hosts: readonly HostEntry[] | undefined,
  from: readonly HostEntry[] | undefined,
): HostEntry[] => (from ?? []).filter(({ ip }) => !(hosts ?? []).some((host) => host.ip === ip));

/** Whether an edit only puts a spare of the policy in the place of one control plane. */
export function isRemediation(old: Spec, next: Spec): boolean {
  const [spare, ...spares] = missingIn(next.policy?.replaceFrom, old.policy?.replaceFrom);
  const [gone, ...more] = missingIn(next.cluster.masterList, old.cluster.masterList);
  if (!spare || !gone || spares.length > 0 || more.length > 0) return false;
  return canonicalJson(remedied(old, editFor(old, gone.ip, spare))) === canonicalJson(next);
}
