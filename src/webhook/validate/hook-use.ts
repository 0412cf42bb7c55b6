import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './change.ts';
import { usesSecretAnew } from './secret-use.ts';

type Hooks = Pick<Spec, 'hooks'>;

/** Whether a list is another with some taken away, in the same order. */
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
 * The hooks that a change may have run where they would not have run before: all that the spec has when one comes or is
 * another, and when the operator is asked for anything, or is given other hosts or another key to them. Which operation
 * follows from a word or an edit is not asked: the word may be answered, and the edit carried out by another.
 */
export function hooksUsedAnew(change: Pick<Change, 'old' | 'next' | 'hosts'>): Hooks {
  const { old, next } = change;
  return hookComes(old?.spec ?? {}, next.spec) || usesSecretAnew(change) ? { hooks: next.spec.hooks } : {};
}
