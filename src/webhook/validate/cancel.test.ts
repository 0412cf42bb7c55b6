import { expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { cancelProblems } from './cancel.ts';

const ID = 'bcdfghjklm';
const cluster = (cancel?: string, name: 'create' | 'delete' = 'create'): KubernetesCluster => ({
  metadata: {
    name: 'demo',
    ...(cancel === undefined ? {} : { annotations: { [annotations.cancel]: cancel } }),
  },
  spec: { cluster: {} },
  status: { operation: { ...runningOperation({}), id: ID, name } },
});

it.each<[string, KubernetesCluster, KubernetesCluster, RegExp | undefined]>([
  ['the operation under way', cluster(), cluster(ID), undefined],
  ['another operation', cluster(), cluster('xxxxxxxxxx'), undefined],
  ['nothing any more', cluster(ID), cluster(), undefined],
  ['what is no id', cluster(), cluster('all'), /is not the id of an operation/],
  ['what was no id before', cluster('all'), cluster('all'), undefined],
  ['a deletion', cluster(undefined, 'delete'), cluster(ID, 'delete'), /deletion, which cannot be cancelled/],
])('checks a cancellation of %s', (_what, old, next, reason) => {
  const problems = cancelProblems({ old, next });
  expect(problems.map((one) => one.reason)).toEqual(
    reason === undefined ? [] : [expect.stringMatching(reason)],
  );
});
