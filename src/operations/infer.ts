import type { Spec } from '#api/kubernetes-cluster.ts';
import type { OperationName } from '#api/words.ts';
import { changesBetween } from './changes.ts';

/** What a spec that was edited without a word asks for (docs/contract.md, Declared changes). */
export type Inference =
  | { kind: 'nothing' }
  | { kind: 'operation'; name: OperationName }
  | { kind: 'needs-confirmation'; message: string }
  | { kind: 'not-offered'; message: string };

export function infer(applied: Spec, wanted: Spec): Inference {
  const { added, removed, others } = changesBetween(applied, wanted);
  if (others.length > 0) return { kind: 'not-offered', message: `${others.join(', ')} cannot be changed` };
  if (added.length > 0 && removed.length > 0) {
    return {
      kind: 'not-offered',
      message: 'spec.cluster.nodeList adds and removes hosts; do one, then the other',
    };
  }
  if (removed.length > 0) {
    const hosts = removed.map(({ ip }) => ip).join(', ');
    return { kind: 'needs-confirmation', message: `set the operation to "scaling-down" to remove ${hosts}` };
  }
  return added.length > 0 ? { kind: 'operation', name: 'scale-up' } : { kind: 'nothing' };
}
