import { expect, it } from 'vitest';
import { inventoryOf } from './inventory.ts';
import type { PlannedHost, RunSpec } from './run-spec.ts';

const host = (
  last: number,
  action: PlannedHost['action'],
  duties: PlannedHost['member']['duties'],
): PlannedHost => ({
  member: { ip: `10.0.0.${last}`, name: `n${last}`, duties },
  action,
});
const runSpec: RunSpec = {
  task: 'scale-up',
  callback: 'scaleup',
  cluster: { id: 'c1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'j', sequence: 3, attempt: 2 },
  steps: [],
  hosts: [
    host(1, 'stay', ['control-plane', 'etcd', 'worker']),
    host(2, 'join', ['worker']),
    host(3, 'leave', ['worker']),
  ],
  username: 'admin',
  precheck: 'all',
  brings: [],
  endpoint: { name: 'api.c1.matryoshka.internal', address: '10.0.0.1' },
  vars: { kube_version: 'v1.34.4' },
};
const groups = (untouched: string[] = []) =>
  Object.fromEntries(
    Object.entries(inventoryOf(runSpec, new Set(untouched)).all.children).map(([name, { hosts }]) => [
      name,
      Object.keys(hosts),
    ]),
  );

it('lists each host under its address, in the groups of its duties and its action', () => {
  expect(groups(['10.0.0.3'])).toEqual({
    'kube-master': ['10.0.0.1'],
    'kube-node': ['10.0.0.2', '10.0.0.3'],
    etcd: ['10.0.0.1'],
    join: ['10.0.0.2'],
    change: [],
    leave: ['10.0.0.3'],
    stay: ['10.0.0.1'],
    untouched: ['10.0.0.3'],
  });
});

it('describes how to reach a host, its node name, and the run', () => {
  const { all } = inventoryOf(runSpec);
  expect(all.hosts['10.0.0.2']).toMatchObject({ ansible_user: 'admin', ansible_port: 22, node_name: 'n2' });
  expect(all.hosts['10.0.0.1']).toMatchObject({ schedulable: true });
  const asking = inventoryOf(runSpec, new Set(), new Set(['10.0.0.2'])).all.hosts;
  expect(Object.keys(asking).filter((ip) => asking[ip]?.sudo_asks)).toEqual(['10.0.0.2']);
  expect(all.vars).toMatchObject({ cluster_id: 'c1', operation_sequence: 3, operation_attempt: 2 });
});
