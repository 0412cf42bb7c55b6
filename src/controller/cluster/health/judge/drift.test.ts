import { expect, it } from 'vitest';
import { judgeDrift } from './drift.ts';
import type { DriftSeen, Expected } from './seen.ts';

const host = (last: number, more: Partial<Expected> = {}): Expected => ({
  ip: `10.0.0.${last}`,
  name: `n${last}`,
  controlPlane: last === 1,
  etcd: last === 1,
  hasNode: true,
  joined: true,
  leaving: false,
  ...more,
});
const node = (last: number, drift?: DriftSeen, driftOfEtcd: Record<string, DriftSeen> = {}) => ({
  name: `n${last}`,
  ready: true,
  drift,
  driftOfEtcd: new Map(Object.entries(driftOfEtcd)),
});
const well: DriftSeen = { atMs: 2, count: 0, things: [] };
const edited: DriftSeen = { atMs: 1, count: 1, things: ['/etc/a changed'] };
const many: DriftSeen = {
  atMs: 1,
  count: 5,
  things: ['/etc/a changed', '/etc/b missing', 'unit c not enabled', 'd'],
};
const hosts = [host(1), host(2)];
/** The second host has external etcd only. */
const external = [host(1), host(2, { hasNode: false, etcd: true }), host(3, { controlPlane: true })];

it.each<[string, ReturnType<typeof node>[] | undefined, Expected[], RegExp]>([
  ['none differs', [node(1, well), node(2, well)], hosts, /^True AsMade: every host matches/],
  [
    'one differs',
    [node(1, well), node(2, edited)],
    hosts,
    /^False Drifted: 1 host differs from what was made: n2 \(10\.0\.0\.2\): \/etc\/a changed; /,
  ],
  [
    'two differ, in many things',
    [node(1, edited), node(2, many)],
    hosts,
    /^False Drifted: 2 hosts differ .*: n1 \(10\.0\.0\.1\): \/etc\/a changed; n2 \(10\.0\.0\.2\): \/etc\/a changed, \/etc\/b missing, unit c not enabled and 2 more; /,
  ],
  ['one differs and one is silent', [node(1, edited), node(2)], hosts, /^False Drifted: 1 host /],
  ['one is silent', [node(1, well), node(2)], hosts, /^Unknown NotTold: .*: n2$/],
  ['a node is nobody’s host', [node(1, well), node(2, well), node(9, edited)], hosts, /^True /],
  ['a host joins', [node(1, well), node(2)], [host(1), host(2, { joined: false })], /^True /],
  ['a host of etcd alone is passed on', [node(1, well, { n2: well }), node(3, well)], external, /^True /],
  [
    'it differs',
    [node(1, well, { n2: edited }), node(3, well)],
    external,
    /^False Drifted: 1 host .*: n2 \(10\.0\.0\.2\): \/etc\/a changed; /,
  ],
  [
    'it differed before, by a control plane that is behind',
    [node(1, well, { n2: edited }), node(3, well, { n2: well })],
    external,
    /^True /,
  ],
  [
    'nobody passes it on',
    [node(1, well), node(3, well, { n9: well })],
    external,
    /^Unknown NotTold: .*: n2$/,
  ],
  [
    'a worker speaks for it',
    [node(1, well), node(3, well, { n2: well })],
    [...external.slice(0, 2), host(3)],
    /^Unknown NotTold: .*: n2$/,
  ],
  ['a host has no node, which another condition tells', [node(1, well)], hosts, /^True /],
  ['nobody tells of nodes', undefined, hosts, /^Unknown NotObserved: /],
])('returns the right status when %s', (_, nodes, of, says) => {
  const { status, reason, message } = judgeDrift({ servers: [], nodes }, of);
  expect(`${status} ${reason}: ${message}`).toMatch(says);
});

it('returns Unknown for a cluster that cannot be probed', () => {
  const blind = { reason: 'KubeconfigMissing', message: 'why' } as const;
  expect(judgeDrift({ blind, servers: [] }, hosts)).toMatchObject({
    status: 'Unknown',
    reason: blind.reason,
  });
});
