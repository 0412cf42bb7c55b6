import { expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { agreedPlanProblems } from './agreed-plan.ts';
import { usesSecretAnew } from './secret-use.ts';

const hash = 'a'.repeat(64);
const cluster = (plan: string): KubernetesCluster => ({
  metadata: { name: 'demo', annotations: { [annotations.operation]: 'creating', [annotations.plan]: plan } },
  spec: { cluster: {} },
});

it.each([
  ['a hash', '', hash, 0],
  ['none', hash, '', 0],
  ['no hash', '', 'yes', 1],
  ['a short one', '', 'abc123', 1],
  ['what was no hash before', 'yes', 'yes', 0],
])('checks a plan annotation: %s', (_what, old, next, problems) => {
  expect(agreedPlanProblems({ old: cluster(old), next: cluster(next) })).toHaveLength(problems);
});

it('requires the Secret permission to remove the plan hash of a waiting request', () => {
  expect(usesSecretAnew({ old: cluster(hash), next: cluster(''), hosts: [] })).toBe(true);
  expect(usesSecretAnew({ old: cluster(hash), next: cluster(hash), hosts: [] })).toBe(false);
});
