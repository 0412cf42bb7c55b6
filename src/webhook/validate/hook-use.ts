import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './kubernetes-cluster.ts';
import { usesSecretAnew } from './secret-use.ts';

type Hooks = Pick<Spec, 'hooks'>;

const filesOf = ({ hooks }: Hooks): Set<string> =>
  new Set(
    Object.entries(hooks ?? {}).flatMap(([key, list]) =>
      (list ?? []).map((file) => canonicalJson({ key, file })),
    ),
  );

/**
 * The hooks that a change may have run where they would not have run before: all that the spec has when one comes or is
 * another, and when the operator is asked for anything, or is given other hosts or another key to them. Which operation
 * follows from a word or an edit is not asked: the word may be answered, and the edit carried out by another.
 */
export function hooksUsedAnew(change: Pick<Change, 'old' | 'next' | 'hosts'>): Hooks {
  const { old, next } = change;
  const known = old && filesOf(old.spec);
  const comes = [...filesOf(next.spec)].some((file) => !known?.has(file));
  return comes || usesSecretAnew(change) ? { hooks: next.spec.hooks } : {};
}
