import { appliedOperation } from '#api/cluster-facts.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './change.ts';
import { asksAnew } from './secret-use.ts';

/**
 * The part of a spec whose ConfigMaps a change makes the operator read that it would not have read before: all of a new
 * object and of a creation that is asked anew, else those files that come or change.
 */
export function manifestsUsedAnew({
  old,
  next,
  hosts,
}: Pick<Change, 'old' | 'next' | 'hosts'>): Pick<Spec, 'addons'> {
  const wanted = next.spec.addons?.manifests ?? [];
  // Nothing applies them to a cluster that was created.
  const isMade = old !== undefined && appliedOperation(old) !== undefined;
  if (!old || (!isMade && asksAnew(old, next, hosts))) return { addons: { manifests: wanted } };
  const known = new Set((old.spec.addons?.manifests ?? []).map((file) => canonicalJson(file)));
  return { addons: { manifests: wanted.filter((file) => !known.has(canonicalJson(file))) } };
}
