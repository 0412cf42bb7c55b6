import { expect, it } from 'vitest';
import type { Secret } from './core.ts';
import type { OwnerReference } from './meta.ts';
import { labels } from './names.ts';
import { type Ownership, ownershipOf } from './own-secret.ts';

const owner = (more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'ecs.yun.com/v1',
  kind: 'KubernetesCluster',
  name: 'demo',
  uid: 'u1',
  ...more,
});
const secret = (ownerReferences: OwnerReference[] | undefined, purpose = 'access'): Secret => ({
  metadata: {
    labels: { [labels.purpose]: purpose },
    ...(ownerReferences ? { ownerReferences } : {}),
  },
});

it.each<[string, Secret, Ownership]>([
  ['of this object', secret([owner()]), 'ours'],
  ['of one that is gone', secret([owner({ uid: 'u0' })]), 'former'],
  ['of both', secret([owner({ uid: 'u0' }), owner()]), 'ours'],
  ['of nobody', secret(undefined), 'foreign'],
  ['of no owner', secret([]), 'foreign'],
  ['for something else', secret([owner()], 'credentials'), 'foreign'],
  ['without a mark', { metadata: { ownerReferences: [owner()] } }, 'foreign'],
  ['of another cluster', secret([owner({ name: 'other' })]), 'foreign'],
  ['of this object and another', secret([owner(), owner({ name: 'other', uid: 'u2' })]), 'foreign'],
  ['of another kind of that name', secret([owner({ kind: 'Cluster' })]), 'foreign'],
  ['of another group', secret([owner({ apiVersion: 'cluster.x-k8s.io/v1' })]), 'foreign'],
])('classifies a Secret: %s', (_what, found, expected) => {
  expect(ownershipOf(found, { name: 'demo', uid: 'u1' }, 'access')).toBe(expected);
});
