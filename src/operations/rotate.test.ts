import { expect, it } from 'vitest';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { planFor } from './plan-for.ts';
import { rotate } from './rotate.ts';
import { externalEtcd, ip, records, spec } from './testing/planned.fixture.ts';

const planned = (of: Spec) =>
  planFor(rotate, { spec: of, applied: of, hosts: records(of), offer: { versions: ['v1.34.4'] } });
const encrypted = ({ cluster }: Spec): Spec => ({
  cluster: { ...cluster, kubeadm: { encryptionAtRest: true } },
});

it('changes control planes one by one, each stage on all of them before the next, then kubelets', () => {
  const { hosts, steps, refusals } = planned(spec([1, 2, 3], [4]));
  expect(refusals).toEqual([]);
  expect(hosts.map(({ member, action, mayBeAway }) => [member.ip, action, mayBeAway])).toEqual([
    ...[1, 2, 3].map((last) => [ip(last), 'change', undefined]),
    [ip(4), 'change', true],
  ]);
  expect(steps.find(({ name }) => name === 'Use new keys')?.hosts).toEqual([1, 2, 3].map(ip));
  expect(steps.find(({ name }) => name === 'Restart kubelets')?.hosts).toEqual([1, 2, 3, 4].map(ip));
  expect(steps.map(({ name, pace }) => [name, pace])).toEqual([
    ['Take hosts', 'all'],
    ['Check control planes', 'all'],
    ['Make keys', 'one'],
    ['Share keys', 'all'],
    ['Accept new keys', 'one'],
    ['Use new keys', 'one'],
    ['Encrypt Secrets', 'one'],
    ['Restart kubelets', { atMost: 1 }],
    ['Forget former keys', 'all'],
  ]);
});

it.each(['Joined', 'Leaving', 'Lost'] as const)('is refused while another control plane is %s', (state) => {
  const of = spec([1, 2, 3], []);
  const hosts = records(spec([1, 2, 3, 4], [])).map((record) =>
    record.spec.ip === ip(4) ? { ...record, status: { ...record.status, state } } : record,
  );
  const { refusals } = planFor(rotate, { spec: of, applied: of, hosts, offer: { versions: ['v1.34.4'] } });
  expect(refusals.map(({ value, reason }) => `${value} ${reason}`).join()).toContain(
    `${ip(4)} control plane ${ip(4)} is ${state}`,
  );
});

it('leaves external members of etcd as they are, and can ask them', () => {
  const { hosts, steps } = planned(encrypted(externalEtcd([1], [6, 7, 8], [4])));
  expect(hosts.map(({ member, action }) => [member.ip, action])).toEqual([
    [ip(1), 'change'],
    [ip(4), 'change'],
    ...[6, 7, 8].map((last) => [ip(last), 'stay']),
  ]);
  expect(steps.find(({ name }) => name === 'Encrypt Secrets')?.hosts).toEqual([ip(1)]);
});
