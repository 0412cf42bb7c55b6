import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';

let operator: TestOperator;
beforeEach(async () => {
  operator = await startOperator(inject('kubeconfigPath'), () => ({
    kind: 'report',
    success: true,
    kubeconfig: KUBECONFIG,
  }));
});
afterEach(() => operator.stop());

const spec: KubernetesCluster['spec'] = {
  cluster: { masterList: [{ ip: '10.252.0.1' }], nodeList: [{ ip: '10.252.0.2' }] },
};
const ended = (word: string, sequence: number) =>
  operator.until(
    'demo',
    (now) =>
      now?.metadata.annotations?.[annotations.operation] === word &&
      now.status?.operation?.sequence === sequence,
  );

it('repairs a cluster as often as it is asked, and leaves its spec as it is', async () => {
  await operator.apply('demo', spec, 'creating', '1');
  await ended('create-finished', 1);
  await operator.apply('demo', spec, 'repairing', '2');
  const repaired = await ended('repair-finished', 2);
  expect(repaired?.status).toMatchObject({
    phase: 'Running',
    operation: { name: 'repair', result: 'finished' },
  });
  expect(findCondition(repaired?.status?.conditions, 'UpToDate')?.status).toBe('True');
  expect(repaired?.status?.hostStates).toEqual({ Joined: 2 });
  await operator.apply('demo', spec, 'repairing', '3');
  await ended('repair-finished', 3);
});
