import { expect, it } from 'vitest';
import type { HostRecord } from '#api/host-record.ts';
import { expectedOf } from './expected.ts';

const record = (
  ip: string,
  cluster: string,
  state: NonNullable<HostRecord['status']>['state'],
): HostRecord => ({
  metadata: { name: ip },
  spec: { clusterId: 'id', cluster, ip, name: `n-${ip}`, duties: ['control-plane', 'etcd'] },
  status: { state },
});
const cluster = { metadata: { namespace: 'default', name: 'demo' }, spec: { cluster: {} } };

it('includes only hosts of the object itself, not of a copy with its id', () => {
  const records = [record('10.0.0.1', 'default/demo', 'Joined'), record('10.0.0.2', 'other/demo', 'Joined')];
  expect(expectedOf(cluster, records).map(({ ip }) => ip)).toEqual(['10.0.0.1']);
});

it.each([
  ['Joined', true, false],
  ['Leaving', false, true],
  ['Held', false, false],
] as const)('classifies a host that is %s', (state, joined, leaving) => {
  expect(expectedOf(cluster, [record('10.0.0.1', 'default/demo', state)])).toMatchObject([
    { joined, leaving },
  ]);
});

it.each([
  ['Unclean', undefined, 0],
  ['Lost', undefined, 0],
  // The host's cluster uses it again.
  ['Unclean', true, 1],
] as const)('expects a host that left only if it is taken again: %s, %s', (state, taken, count) => {
  const left = record('10.0.0.1', 'default/demo', state);
  const one = { ...left, status: { ...left.status, ...(taken ? { taken } : {}) } };
  expect(expectedOf(cluster, [one])).toHaveLength(count);
});
