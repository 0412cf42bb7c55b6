import { expect, it } from 'vitest';
import type { PlannedHost, RunSpec } from '#protocol/run-spec.ts';
import { announcement, checkedHosts } from './checked-hosts.ts';

const host = (ip: string, duties: PlannedHost['member']['duties'], action: PlannedHost['action']) => ({
  member: { ip, name: ip, duties },
  action,
});
const runSpec: RunSpec = {
  task: 'relabel',
  callback: 'relabel',
  cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'relabel-x-1', sequence: 3, attempt: 1 },
  steps: [{ name: 'Label nodes', hosts: ['10.0.0.1'], pace: 'one', cut: 'between' }],
  hosts: [host('10.0.0.1', ['control-plane', 'etcd'], 'stay'), host('10.0.0.2', ['worker'], 'change')],
  username: 'root',
  precheck: 'all',
  brings: [],
  endpoint: { name: 'api', address: '10.0.0.1' },
  vars: {},
};
const addresses = (steps: RunSpec['steps']) =>
  checkedHosts({ runSpec: { ...runSpec, steps }, access: { knownHosts: '' } }).map(({ ip }) => ip);

it('skips a host that no step works on', () => {
  expect(addresses(runSpec.steps)).toEqual(['10.0.0.1']);
});

it('checks every host of an auxiliary Job, which has no steps', () => {
  expect(addresses([])).toEqual(['10.0.0.1', '10.0.0.2']);
});

it('announces the number of hosts and the time limits before the checks', () => {
  const hosts = checkedHosts({ runSpec, access: { knownHosts: '' } });
  expect(announcement(runSpec, hosts)).toBe(
    'relabel of demo, attempt 1: looking at 1 host; one that does not answer is given up after 15 s, ' +
      'one that stops answering within 60 s',
  );
  expect(announcement(runSpec, [...hosts, ...hosts])).toContain('looking at 2 hosts;');
});

it.each([
  ['kubeadm makes the members on control planes', [], [true, false]],
  [
    'a unit of ours does where one is on a host of its own',
    [host('10.0.0.3', ['etcd'], 'stay')],
    [false, false, false],
  ],
])('determines whether %s', (_what, more, expected) => {
  const hosts = [...runSpec.hosts, ...more];
  const checked = checkedHosts({ runSpec: { ...runSpec, hosts, steps: [] }, access: { knownHosts: '' } });
  expect(checked.map(({ kubeadmMakesEtcd }) => kubeadmMakesEtcd)).toEqual(expected);
});

it.each([
  ['a control plane', '10.0.0.1', false],
  ['a balancer of the site', '10.9.9.9', true],
  ['a name that resolves', '', true],
])('determines whether a load balancer is used if the endpoint is %s', (_what, address, expected) => {
  const endpoint = { name: 'api', address };
  const [first] = checkedHosts({ runSpec: { ...runSpec, endpoint }, access: { knownHosts: '' } });
  expect(first?.behindBalancer).toBe(expected);
});
