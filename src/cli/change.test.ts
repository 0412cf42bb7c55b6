import { expect, it } from 'vitest';
import type { PlanAnswer } from '#rest/plan.ts';
import { retryOf, scaleOf } from './change.ts';
import type { Cluster } from './clusters.ts';

const cluster = (status: Partial<Cluster['status']> = {}): Cluster => ({
  metadata: { name: 'demo', namespace: 'default', annotations: {} },
  spec: {
    cluster: {
      region: 'default',
      masterList: [{ ip: '192.0.2.11' }],
      nodeList: [{ ip: '192.0.2.12', labels: { rack: 'a' } }, { ip: '192.0.2.11' }],
      etcdList: [],
    },
  },
  status: { conditions: [], hosts: [], ...status },
});

it('adds hosts to the present ones, and leaves other lists out', () => {
  expect(scaleOf(cluster(), { addWorkers: '192.0.2.13, 192.0.2.14' })).toEqual({
    operation: 'scale-up',
    body: {
      nodeList: [
        { ip: '192.0.2.12', labels: { rack: 'a' } },
        { ip: '192.0.2.11' },
        { ip: '192.0.2.13' },
        { ip: '192.0.2.14' },
      ],
    },
    flags: { 'nodeList[2]': '--add-workers', 'nodeList[3]': '--add-workers' },
    does: 'add 192.0.2.13, 192.0.2.14',
  });
});

it('removes a host from each list that names it', () => {
  const { operation, body, danger } = scaleOf(cluster(), { remove: '192.0.2.12' });
  expect({ operation, body }).toEqual({
    operation: 'scale-down',
    body: { nodeList: [{ ip: '192.0.2.11' }] },
  });
  expect(typeof danger === 'function' && danger(undefined)).toBe(
    '192.0.2.12 will be drained, removed from cluster demo and reset',
  );
  const { spec, ...more } = cluster();
  const masterList = [...spec.cluster.masterList, { ip: '192.0.2.10' }];
  const two = { ...more, spec: { cluster: { ...spec.cluster, masterList } } };
  expect(scaleOf(two, { remove: '192.0.2.12,192.0.2.11' }).body).toEqual({
    masterList: [{ ip: '192.0.2.10' }],
    nodeList: [],
    allowEmpty: true,
  });
});

it('says of each host that is removed what happens to it', () => {
  const { danger } = scaleOf(
    {
      ...cluster(),
      spec: {
        cluster: { ...cluster().spec.cluster, nodeList: [{ ip: '192.0.2.12' }, { ip: '192.0.2.13' }] },
      },
    },
    { remove: '192.0.2.12,192.0.2.13' },
  );
  const plan: PlanAnswer = {
    ...{
      operation: 'scale-down',
      hash: 'x',
      hosts: [{ ip: '192.0.2.12', name: 'a', duties: ['worker'], action: 'leave' }],
      steps: [],
      hooks: [],
    },
    ...{ release: ['192.0.2.13'], warnings: [], refusals: [] },
  };
  expect(typeof danger === 'function' && danger(plan)).toBe(
    '192.0.2.12 will be drained, removed from cluster demo and reset; 192.0.2.13 will be taken off the list of cluster demo, without a run',
  );
});

it.each([
  [{}, 'there is no host; name some with'],
  [{ addWorkers: '192.0.2.13', remove: '192.0.2.12' }, 'ask for one, and then for the other'],
  [{ addWorkers: '192.0.2.12' }, '--add-workers: 192.0.2.12 is in the list of cluster demo already'],
  [{ remove: '192.0.2.12,192.0.2.11' }, '--remove: cluster demo would have no control plane'],
  [{ remove: '192.0.2.99' }, '--remove: 192.0.2.99 is not a host of cluster demo'],
  [{ remove: 'node-1' }, '--remove: node-1 is not an IP address'],
])('refuses %o', (scale, message) => {
  expect(() => scaleOf(cluster(), scale)).toThrow(message);
});

const operation = (name: string, result?: string) => ({
  operation: { id: 'x', name, requestId: 'x', step: 'x', startedAt: '2026-11-29T10:00:00Z', result },
});

it('retries only what has failed', () => {
  expect(retryOf(cluster(operation('update', 'failed')))).toEqual({
    operation: 'update',
    body: { retry: true },
  });
  expect(retryOf(cluster(operation('create', 'cancelled')))).toMatchObject({ operation: 'create' });
  expect(() => retryOf(cluster(operation('update', 'finished')))).toThrow('has not failed');
  expect(() => retryOf(cluster())).toThrow('has not failed');
});
