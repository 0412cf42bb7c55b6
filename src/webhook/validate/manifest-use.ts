import { appliedOperation } from '#api/cluster-facts.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './change.ts';
import { asksAnew } from './secret-use.ts';

/**
 * Returns the manifests whose ConfigMaps the operator reads because of a change: all of a new object and of a newly
 * requested creation, else new and changed files.
 */
export function manifestsUsedAnew({
  old,
  next,
  hosts,
}: Pick<Change, 'old' | 'next' | 'hosts'>): Pick<Spec, 'addons'> {
  const wanted = next.spec.addons?.manifests ?? [];
  // No operation applies manifests to a cluster that was created.
  const isMade = old !== undefined && appliedOperation(old) !== undefined;
  if (!old || (!isMade && asksAnew(old, next, hosts))) return { addons: { manifests: wanted } };
  const known = new Set((old.spec.addons?.manifests ?? []).map((file) => canonicalJson(file)));
  return { addons: { manifests: wanted.filter((file) => !known.has(canonicalJson(file))) } };
}
