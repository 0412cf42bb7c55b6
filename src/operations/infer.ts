import type { Spec } from '#api/kubernetes-cluster.ts';
import { type ChangeKind, changesBetween, textOfChange } from './changes.ts';
import { operations } from './index.ts';
import type { Operation } from './operation.ts';

/** The operation that an edit without an operation annotation implies (docs/reference/requests.md). */
export type Inference =
  | { kind: 'nothing' }
  | { kind: 'operation'; operation: Operation }
  | { kind: 'needs-confirmation'; operation: Operation; message: string }
  | { kind: 'not-offered'; message: string; fields: readonly string[] };

const DOES: Readonly<Record<ChangeKind, string>> = {
  'workers added': 'adds workers',
  'workers removed': 'removes workers',
  'control planes added': 'adds control planes',
  'control planes removed': 'removes control planes',
  'etcd members added': 'adds members of etcd',
  'etcd members removed': 'removes members of etcd',
  'etcd moved': 'moves etcd',
  labels: 'changes labels or taints',
  settings: 'changes settings',
  version: 'changes the Kubernetes version',
  other: 'changes other fields',
};

/** Fields that a later version will be able to change. */
const NOT_YET: ReadonlySet<string> = new Set([
  'spec.cluster.kubeadm.encryptionAtRest',
  'spec.cluster.kubeadm.patches',
  'spec.addons.network',
  'spec.addons.manifests',
]);

/**
 * Returns the operation that carries out all edits. One that waits for its operation annotation is only reported, unless
 * `spec.policy.inferDestructive` is set.
 */
export function infer(applied: Spec, wanted: Spec): Inference {
  const changes = changesBetween(applied, wanted);
  if (changes.length === 0) return { kind: 'nothing' };
  const operation = operations.find(({ mayChange }) => changes.every(({ kind }) => mayChange.includes(kind)));
  // The policy is for edits that remove hosts. What restarts API servers always waits for its annotation.
  const isRemoval = changes.some(({ kind }) => kind !== 'version' && kind !== 'settings');
  const isOrdered =
    operation?.declared === 'starts' || (isRemoval && wanted.policy?.inferDestructive === true);
  if (operation && isOrdered) return { kind: 'operation', operation };
  if (operation) {
    const hosts = changes.map(({ ip, field }) => ip ?? field).join(', ');
    const message = `set the operation to "${operation.values.asked}" for ${hosts} (${operation.summary.toLowerCase()})`;
    return { kind: 'needs-confirmation', operation, message };
  }
  const possible = operations.flatMap(({ mayChange }) => mayChange);
  const impossible = changes.filter(({ kind }) => !possible.includes(kind));
  if (impossible.length > 0) {
    const fields = impossible.map(({ field }) => field);
    const yet = fields.every((field) => NOT_YET.has(field))
      ? ' yet; put back what the cluster was made with'
      : '';
    return {
      kind: 'not-offered',
      message: `${[...new Set(impossible.map(textOfChange))].join(', ')} cannot be changed${yet}`,
      fields,
    };
  }
  const kinds = [...new Set(changes.map(({ kind }) => kind))];
  const each = kinds.map((kind) => {
    const hosts = changes.flatMap((change) => (change.kind === kind && change.ip ? [change.ip] : []));
    return `${DOES[kind]} (${[...new Set(hosts)].join(', ')})`;
  });
  return {
    kind: 'not-offered',
    message: `this ${each.join(' and ')} at once; apply one of these alone, and the next when that is done`,
    fields: changes.map(({ field }) => field),
  };
}
