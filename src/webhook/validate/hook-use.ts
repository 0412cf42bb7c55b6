import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './change.ts';
import { usesSecretAnew } from './secret-use.ts';

type Hooks = Pick<Spec, 'hooks'>;

/** Whether a list equals another one with some entries removed, in the same order. */
function isPartOf(list: readonly unknown[], whole: readonly unknown[]): boolean {
  const rest = whole.map((one) => canonicalJson(one));
  return list.every((one) => {
    const at = rest.indexOf(canonicalJson(one));
    rest.splice(0, at + 1);
    return at >= 0;
  });
}

const hookComes = (old: Hooks, next: Hooks): boolean => {
  const known = new Map(Object.entries(old.hooks ?? {}));
  return Object.entries(next.hooks ?? {}).some(([key, list]) => !isPartOf(list ?? [], known.get(key) ?? []));
};

/**
 * Returns the hooks that may run because of a change. These are all hooks of the spec if one is new or changed, if the
 * change requests an operation, or if it changes hosts or their key. The operation itself is not determined: the annotation
 * may be answered without a run, and another operation may carry out the edit.
 */
export function hooksUsedAnew(change: Pick<Change, 'old' | 'next' | 'hosts'>): Hooks {
  const { old, next } = change;
  return hookComes(old?.spec ?? {}, next.spec) || usesSecretAnew(change) ? { hooks: next.spec.hooks } : {};
}
