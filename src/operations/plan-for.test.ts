import { describe, expect, it } from 'vitest';
import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostRecord, HostRecordStatus } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { create } from './create.ts';
import { remove } from './delete.ts';
import type { Operation } from './operation.ts';
import { planFor } from './plan-for.ts';
import { repair } from './repair.ts';
import { resolveSpec } from './resolve.ts';
import { scaleDown } from './scale-down.ts';
import { scaleUp } from './scale-up.ts';

interface Entry {
  ip: string;
  name?: string;
}
/** Returns the resolved spec of a created cluster. */
const spec = (...nodes: Entry[]): Spec =>
  resolveSpec(
    { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: nodes } },
    { versions: ['v1.34.4'] },
    undefined,
  );
const record = (entry: Entry, status: HostRecordStatus, list = 'nodeList'): HostRecord => {
  const [host] = [...clusterHostsOf({ [list]: [entry] }).values()];
  if (!host) throw new Error('no member');
  return { metadata: { name: entry.ip }, spec: { clusterId: 'c1', cluster: 'a/demo', ...host }, status };
};
const master = record({ ip: '10.0.0.1' }, { state: 'Joined', touched: true }, 'masterList');
const plan = (operation: Operation, wanted: Spec, applied: Spec | undefined, hosts: HostRecord[]) => {
  const made = planFor(operation, { spec: wanted, applied, hosts, offer: { versions: ['v1.34.4'] } });
  return {
    ...made,
    does: Object.fromEntries(
      made.hosts.map(({ member: host, action }) => [host.ip, `${action} ${host.name}`]),
    ),
    refused: made.refusals.map(({ reason }) => reason),
  };
};

describe('a spec without defaults', () => {
  const written: Spec = { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }] } };
  const situation = { applied: spec(), hosts: [master], offer: { versions: ['v1.34.4'] } };

  it('has the same plan as the spec with all defaults', () => {
    const made = planFor(scaleUp, { ...situation, spec: written });
    expect(made).toEqual(planFor(scaleUp, { ...situation, spec: spec({ ip: '10.0.0.2' }) }));
    expect(made.target.cluster.podCIDR).toMatch(/./);
  });

  it('keeps the version of its cluster if status has none, not the newest', () => {
    const offer = { versions: ['v1.35.1', 'v1.34.4'] };
    const made = planFor(scaleUp, { ...situation, spec: written, offer });
    expect([made.refusals, made.target.cluster.kubeVersion]).toEqual([[], 'v1.34.4']);
  });
});

describe('the address as the identity of a host', () => {
  const mistyped = { ip: '10.0.0.99', name: 'w1' };
  const right = { ip: '10.0.0.17', name: 'w1' };
  const other = { ip: '10.0.0.18', name: 'w2' };

  it('releases an unreached host when another host takes its name', () => {
    const { does, release, refused } = plan(scaleUp, spec(right), spec(), [master, record(mistyped, {})]);
    expect({ does, release, refused }).toEqual({
      does: { '10.0.0.1': 'stay host-10-0-0-1', '10.0.0.17': 'join w1' },
      release: ['10.0.0.99'],
      refused: [],
    });
  });

  it('refuses the name of a host that may carry parts of the cluster', () => {
    for (const state of ['Held', 'Unclean', 'Joined'] as const) {
      const held = record(mistyped, { state, touched: true });
      const { refused } = plan(scaleUp, spec(right), spec(), [master, held]);
      expect(refused.join()).toContain(`"w1", which is the name of 10.0.0.99 (${state})`);
    }
  });

  it('keeps the node of a joined host that has the same name', () => {
    const hosts = [
      master,
      record(right, { state: 'Joined' }),
      record(other, { state: 'Joined' }),
      record(mistyped, {}),
    ];
    const { does, release } = plan(scaleDown, spec(right), spec(right, other), hosts);
    expect(does).toEqual({ '10.0.0.1': 'stay host-10-0-0-1', '10.0.0.18': 'leave w2' });
    expect(release).toEqual(['10.0.0.99']);
  });
});

describe('a plan', () => {
  const worker = { ip: '10.0.0.2' };

  it('gives a host the wanted duties and name, not those of a failed attempt', () => {
    const swapped: Spec = { cluster: { masterList: [worker], nodeList: [{ ip: '10.0.0.1', name: 'new' }] } };
    const tried = [{ ...master, status: { touched: true } }, record(worker, { touched: true })];
    const { hosts } = plan(create, swapped, undefined, tried);
    expect(hosts.map(({ member: host }) => [host.ip, host.name, host.duties])).toEqual([
      ['10.0.0.2', 'host-10-0-0-2', ['control-plane', 'etcd']],
      ['10.0.0.1', 'new', ['worker']],
    ]);
  });

  it('resets hosts in a scale-up that an earlier attempt took and the spec dropped', () => {
    const dropped = record({ ip: '10.0.0.3' }, { touched: true });
    const { does, steps } = plan(scaleUp, spec(worker), spec(), [master, dropped]);
    expect(does).toMatchObject({ '10.0.0.2': 'join host-10-0-0-2', '10.0.0.3': 'leave host-10-0-0-3' });
    expect(steps.find(({ name }) => name === 'Reset hosts')?.hosts).toEqual(['10.0.0.3']);
  });

  it('resets Unclean hosts again in a scale-down', () => {
    const unclean = record(worker, { state: 'Unclean' });
    expect(plan(scaleDown, spec(), spec(), [master, unclean]).does).toMatchObject({
      '10.0.0.2': 'leave host-10-0-0-2',
    });
  });

  it('resets every touched host in a deletion, and refuses nothing', () => {
    const hosts = [master, record(worker, { state: 'Unclean' }), record({ ip: '10.0.0.3' }, {})];
    const { does, release, refused } = plan(remove, { cluster: {} }, undefined, hosts);
    expect({ actions: Object.values(does).map((text) => text.split(' ')[0]), release, refused }).toEqual({
      actions: ['leave', 'leave'],
      release: ['10.0.0.3'],
      refused: [],
    });
  });

  it('treats the machine at the address of a Lost host as a new host', () => {
    const lost = record(worker, { state: 'Lost', machineId: 'm1' });
    const of = (operation: Operation, wanted: Spec) =>
      plan(operation, wanted, spec(), [master, lost]).hosts.find(({ member: host }) => host.ip === worker.ip);
    expect(of(scaleUp, spec(worker))).toMatchObject({ action: 'join' });
    expect(of(scaleUp, spec(worker))).not.toHaveProperty('machineId');
    expect(of(scaleDown, spec())).toMatchObject({ action: 'leave', machineId: 'm1' });
  });

  it('carries the machine id of a joined host', () => {
    const known = record(worker, { state: 'Joined', machineId: 'm1' });
    const { hosts } = plan(scaleDown, spec(), spec(worker), [master, known]);
    expect(hosts.find(({ member: host }) => host.ip === '10.0.0.2')?.machineId).toBe('m1');
  });
});

const BOTH = '10.244.0.0/16,fd00:10:244::/56';

it.each<[string, Partial<Spec['cluster']>, string]>([
  ['a podCIDR too small', { podCIDR: '10.244.0.0/24' }, 'is too small: each host needs a /24'],
  ['IPv6 hosts in an IPv4 cluster', { nodeList: [{ ip: 'fd00::2' }] }, 'is IPv6, and podCIDR is IPv4'],
  ['a balancer with a port', { externalLoadBalancer: 'lb.example.com:6443' }, 'without a port'],
  ['a balancer in capitals', { externalLoadBalancer: 'internal-ELB.example.com' }, 'in lower-case letters'],
  ['a balancer with an empty label', { externalLoadBalancer: 'a..b' }, 'single dots'],
  ['two families for pods and one for Services', { podCIDR: BOTH }, 'is IPv4, and podCIDR is IPv4 and IPv6'],
])('refuses %s', (_what, change, why) => {
  const wanted = { cluster: { ...spec({ ip: '10.0.0.2' }).cluster, ...change } };
  expect(plan(create, wanted, undefined, []).refused.join()).toContain(why);
});

it('refuses IPv6 only with flannel-policies', () => {
  const refusals = (network: 'flannel' | 'flannel-policies' | 'none') => {
    const change = { podCIDR: 'fd01::/48', serviceCIDR: 'fd02::/112' };
    const wanted = { cluster: { ...spec().cluster, ...change }, addons: { network } };
    return plan(create, wanted, undefined, []).refused.join();
  };
  expect(refusals('flannel-policies')).toContain('flannel-policies is not offered');
  for (const network of ['flannel', 'none'] as const)
    expect(refusals(network)).not.toContain('is not offered');
});

describe('a cluster whose release has no artifacts in the installation', () => {
  const worker = record({ ip: '10.0.0.2' }, { state: 'Joined', touched: true });
  const [present, larger, smaller] = [
    spec({ ip: '10.0.0.2' }),
    spec({ ip: '10.0.0.2' }, { ip: '10.0.0.3' }),
    spec(),
  ];
  const refused = (operation: Operation, wanted: Spec) =>
    planFor(operation, {
      spec: wanted,
      applied: present,
      hosts: [master, worker],
      offer: { versions: ['v1.35.4'] },
      version: 'v1.34.4',
    }).refusals.map(({ field, reason }) => `${field}: ${reason}`);

  it.each([
    ['is not scaled up', scaleUp, larger],
    ['is not put back', repair, present],
  ])('%s, and the plan reports why', (_what, operation, wanted) => {
    expect(refused(operation, wanted)).toEqual([
      expect.stringMatching(
        /^spec\.cluster\.kubeVersion: NotOffered: .*no artifacts of it \(it has v1\.35\.4\)/,
      ),
    ]);
  });

  it.each([
    ['loses workers', scaleDown, smaller],
    ['is deleted', remove, present],
  ])('%s anyway', (_what, operation, wanted) => {
    expect(refused(operation, wanted)).toEqual([]);
  });
});
