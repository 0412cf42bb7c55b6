import { describe, expect, it } from 'vitest';
import { judge } from './judge.ts';
import type { Expected, NodeSeen, Seen, ServerSeen } from './seen.ts';

const now = new Date('2026-01-01T00:00:00Z');
const inDays = (days: number) => new Date(now.getTime() + days * 86_400_000);
const host = (last: number, more: Partial<Expected> = {}): Expected => ({
  ip: `10.0.0.${last}`,
  name: `n${last}`,
  controlPlane: last <= 3,
  etcd: last <= 3,
  hasNode: true,
  joined: true,
  leaving: false,
  ...more,
});
const hosts = [1, 2, 3, 4].map((last) => host(last));
const server = (last: number, more: Partial<ServerSeen> = {}): ServerSeen => ({
  ip: `10.0.0.${last}`,
  state: 'ready',
  certificateEnds: inDays(300),
  ...more,
});
const node = (last: number, ready = true): NodeSeen => ({ name: `n${last}`, ready });
const pod = (last: number, ready = true) => ({ node: `n${last}`, ready });
const well: Seen = {
  servers: [server(1), server(2), server(3)],
  nodes: [1, 2, 3, 4].map((last) => node(last)),
  etcdPods: [1, 2, 3].map((last) => pod(last)),
  clientCertificateEnds: inDays(300),
};
/** A node whose host reports its first certificate. */
const reporting = (last: number, days: number): NodeSeen => ({
  ...node(last),
  drift: {
    atMs: now.getTime(),
    count: 0,
    things: [],
    certificate: { ends: inDays(days), file: '/var/lib/kubelet/pki/kubelet.crt' },
  },
});
/** Etcd members on hosts 5, 6 and 7, and the report of a node about them. */
const external = [1, 2, 4, 5, 6, 7].map((last) => host(last, { etcd: last > 4, hasNode: last <= 4 }));
const reporter = (last: number, healthy: number[], silent: number[] = []): NodeSeen => ({
  ...node(last),
  etcd: [
    ...healthy.map((one) => ({ ip: `10.0.0.${one}`, healthy: true, says: 'healthy' })),
    ...silent.map((one) => ({ ip: `10.0.0.${one}`, healthy: false, says: 'does not answer' })),
  ],
});
const withLeader = (last: number, reported: NodeSeen): NodeSeen => ({
  ...reported,
  etcd: (reported.etcd ?? []).map((one) => (one.ip === `10.0.0.${last}` ? { ...one, isLeader: true } : one)),
});
const silent = [1, 2, 3].map((last) => server(last, { state: 'silent', certificateEnds: undefined }));
const noEtcd = [1, 2, 3].map((last) =>
  server(last, { state: 'not-ready', failed: ['etcd', 'etcd-readiness'] }),
);

/** Returns `status reason: message` of a condition. */
function said(type: string, seen: Partial<Seen>, of = hosts): string {
  const found = judge({ ...well, ...seen }, of, now).conditions.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}
const unseen = { nodes: undefined, etcdPods: undefined };

describe('Ready', () => {
  it.each<[string, Partial<Seen>, RegExp]>([
    ['all is well', {}, /^True Healthy: /],
    ['one API server answers', { servers: [server(1, { state: 'silent' }), server(2)] }, /^True /],
    ['etcd takes no writes', { writesRefused: 'Corrupt' }, /^False Corrupt: etcd takes no writes: /],
    ['a worker is away', { nodes: [node(1), node(2), node(3), node(4, false)] }, /^True /],
    [
      'none answers',
      { servers: silent, ...unseen },
      /^False ControlPlaneUnavailable: no API server is ready: 10\.0\.0\.1 does not answer, /,
    ],
    [
      'etcd does not answer them',
      { servers: noEtcd, ...unseen },
      /^False QuorumLost: etcd does not answer 10/,
    ],
    [
      'all refuse the credentials',
      { servers: [server(1, { state: 'refusing' })], ...unseen },
      /^Unknown CredentialsRefused: /,
    ],
    [
      'there is no kubeconfig',
      { blind: { reason: 'KubeconfigMissing', message: 'why' }, servers: [], ...unseen },
      /^Unknown KubeconfigMissing: why$/,
    ],
  ])('has the right status when %s', (_, seen, says) => {
    expect(said('Ready', seen)).toMatch(says);
  });
});

describe('HostsReachable', () => {
  const many = Array.from({ length: 15 }, (_, at) => node(at + 10, false));
  it.each<[string, Partial<Seen>, Expected[], string]>([
    ['all report', {}, hosts, 'True AllReady: the kubelet of every host reports that its node is Ready'],
    [
      'one does not',
      { nodes: [node(1), node(2), node(3), node(4, false)] },
      hosts,
      'False NodeNotReady: 1 node is not Ready: n4',
    ],
    [
      'one is called Ready by a cluster that hears nothing of it',
      { nodes: [node(1), node(2), node(3), { ...node(4, false), silent: true }] },
      hosts,
      'False NodeNotReady: 1 node is not Ready: n4 (its lease is not renewed)',
    ],
    [
      'a host has no node',
      { nodes: [node(1), node(2), node(3)] },
      hosts,
      'False NodeMissing: 1 host has no node in the cluster: n4 (10.0.0.4)',
    ],
    [
      'an etcd host has no node',
      {},
      [...hosts, host(5, { hasNode: false })],
      'True AllReady: the kubelet of every host reports that its node is Ready',
    ],
    [
      'a host joins',
      { nodes: [...(well.nodes ?? []), node(5, false)] },
      [...hosts, host(5, { joined: false })],
      'True AllReady: the kubelet of every host reports that its node is Ready',
    ],
    [
      'many do not',
      { nodes: [...(well.nodes ?? []), ...many] },
      hosts,
      'False NodeNotReady: 15 nodes are not Ready: n10, n11, n12, n13, n14, n15, n16, n17, n18, n19 and 5 more',
    ],
  ])('has the right status when %s', (_, seen, of, says) => {
    expect(said('HostsReachable', seen, of)).toBe(says);
  });

  it('is Unknown if no API server answers', () => {
    const verdict = judge({ ...well, ...unseen, servers: silent }, hosts, now);
    expect(verdict.conditions.find(({ type }) => type === 'HostsReachable')?.status).toBe('Unknown');
    expect(verdict).not.toHaveProperty('nodes');
  });

  it('counts every node', () => {
    expect(judge({ ...well, nodes: [node(1), node(9, false)] }, hosts, now).nodes).toEqual({
      ready: 1,
      total: 2,
    });
  });
});

describe('ControlPlaneHealthy', () => {
  it.each<[string, ServerSeen[], string]>([
    ['all are ready', [server(1), server(2)], 'True AllReady: every API server is ready'],
    [
      'one does not answer',
      [server(1, { state: 'silent' }), server(2), server(3)],
      'False Degraded: 1 of 3 API servers is not ready: 10.0.0.1 does not answer',
    ],
    [
      'one has another authority',
      [server(1, { state: 'untrusted' }), server(2)],
      "False Degraded: 1 of 2 API servers is not ready: 10.0.0.1 shows a certificate that the kubeconfig's authority has not signed for it",
    ],
    [
      'none is ready',
      [server(1, { state: 'not-ready', failed: ['etcd'] })],
      'False NoneReady: 1 of 1 API servers is not ready: 10.0.0.1 is not ready (failed: etcd)',
    ],
  ])('has the right status when %s', (_, servers, says) => {
    expect(said('ControlPlaneHealthy', { servers })).toBe(says);
  });
});

describe('EtcdHealthy', () => {
  it.each<[string, Partial<Seen>, Expected[], string]>([
    ['all are', {}, hosts, 'True AllHealthy: every member is healthy: 3, quorum is 2, 1 more may fail'],
    [
      'one pod is not Ready',
      { etcdPods: [pod(1), pod(2), pod(3, false)] },
      hosts,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n3',
    ],
    [
      'a pod is missing',
      { etcdPods: [pod(1), pod(2)] },
      hosts,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n3',
    ],
    [
      'the node of one is away, though its pod was Ready',
      { nodes: [node(1), node(2, false), node(3), node(4)] },
      hosts,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n2',
    ],
    [
      'a member leaves and is gone already',
      { etcdPods: [pod(1)] },
      [host(1), host(2, { joined: false, leaving: true })],
      'True AllHealthy: every member is healthy: 1, quorum is 1, no other may fail',
    ],
    [
      'a member leaves and is down',
      { etcdPods: [pod(1), pod(2), pod(3, false)] },
      [host(1), host(2), host(3, { joined: false, leaving: true })],
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n3',
    ],
    [
      'an operation has moved one away',
      { etcdPods: [pod(1), pod(2)], changing: true },
      hosts,
      'True AllHealthy: every member is healthy: 2, quorum is 2, no other may fail',
    ],
    [
      'one fails during an operation',
      { etcdPods: [pod(1), pod(2), pod(3, false)], changing: true },
      hosts,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n3',
    ],
    [
      'members have hosts of their own',
      { etcdPods: [] },
      [host(1, { etcd: false }), host(5, { etcd: true })],
      'Unknown MembersNotObserved: etcd answers the API servers; no control plane has reported external members lately: n5',
    ],
    [
      'they answer every control plane',
      { nodes: [reporter(1, [5, 6, 7]), reporter(2, [5, 6, 7])], etcdPods: [] },
      external,
      'True AllHealthy: every member is healthy: 3, quorum is 2, 1 more may fail',
    ],
    [
      'one does not answer one of two control planes',
      { nodes: [reporter(1, [5, 6, 7]), reporter(2, [5, 6], [7])], etcdPods: [] },
      external,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n7 (to n2: does not answer)',
    ],
    [
      'one of them leads',
      { nodes: [withLeader(6, reporter(1, [5, 6, 7])), withLeader(6, reporter(2, [5, 6, 7]))], etcdPods: [] },
      external,
      'True AllHealthy: every member is healthy: 3, n6 leads, quorum is 2, 1 more may fail',
    ],
    [
      'two say that they lead',
      { nodes: [withLeader(6, reporter(1, [5, 6, 7])), withLeader(5, reporter(2, [5, 6, 7]))], etcdPods: [] },
      external,
      'True AllHealthy: every member is healthy: 3, quorum is 2, 1 more may fail',
    ],
    [
      'one beside its control plane raises an alarm, though its pod is well',
      {
        nodes: [
          withLeader(1, reporter(1, [1])),
          reporter(2, [2]),
          { ...node(3), etcd: [{ ip: '10.0.0.3', healthy: false, says: 'ALARM NOSPACE' }] },
        ],
      },
      hosts,
      'False Degraded: 2 of 3 members are healthy, quorum is 2, no other may fail; not healthy: n3 (ALARM NOSPACE)',
    ],
    [
      'an operation has moved one away that its control plane lately told of',
      { nodes: [reporter(3, [], [3])], etcdPods: [pod(1), pod(2)], changing: true },
      hosts,
      'True AllHealthy: every member is healthy: 2, quorum is 2, no other may fail',
    ],
    [
      'it takes no writes',
      { writesRefused: 'NoSpace' },
      hosts,
      'False NoSpace: etcd takes no writes: its database has reached its quota (alarm NOSPACE); remove objects, then compact, defragment and disarm the alarm',
    ],
    [
      'a control plane tells of all but one',
      { nodes: [reporter(1, [5, 6])], etcdPods: [] },
      external,
      'Unknown MembersNotObserved: etcd answers the API servers; no control plane has reported external members lately: n7',
    ],
    [
      'only a worker, and a control plane that is away, tell of them',
      { nodes: [reporter(4, [5, 6, 7]), { ...reporter(1, [5, 6, 7]), ready: false }], etcdPods: [] },
      external,
      'Unknown MembersNotObserved: etcd answers the API servers; no control plane has reported external members lately: n5, n6, n7',
    ],
    [
      'an operation moves them to hosts of their own',
      { nodes: [reporter(1, [5, 6])], etcdPods: [], changing: true },
      external,
      'True AllHealthy: every member is healthy: 2, quorum is 2, no other may fail',
    ],
    [
      'no API server reaches it',
      { servers: noEtcd },
      hosts,
      'False QuorumLost: etcd does not answer 10.0.0.1, 10.0.0.2, 10.0.0.3',
    ],
    [
      'nobody tells',
      { servers: silent },
      hosts,
      'Unknown NotObserved: no API server reports whether etcd answers',
    ],
  ])('has the right status when %s', (_, seen, of, says) => {
    expect(said('EtcdHealthy', seen, of)).toBe(says);
  });

  it('warns of a nearly full database, with a message that stays equal', () => {
    const at = (gib: number) => said('EtcdHealthy', { databaseBytes: gib * 1024 ** 3 });
    expect(at(1.5)).toMatch(/^True AllHealthy/);
    expect(at(1.7)).toMatch(/^True DatabaseNearlyFull: /);
    expect(at(1.7)).toBe(at(1.9));
  });
});

describe('CertificatesValid', () => {
  it.each<[string, Partial<Seen>, string]>([
    ['all last', {}, 'True Valid: no certificate ends within 30 days'],
    [
      'one ends in 29 days',
      { servers: [server(1, { certificateEnds: inDays(29) })] },
      'True ExpiresSoon: certificates end within 30 days: of the API server at 10.0.0.1; set the operation to "renewing" (REST: POST …/renew) to renew them',
    ],
    [
      'one has ended',
      { clientCertificateEnds: inDays(0) },
      `False Expired: expired are the certificates of the kubeconfig's user; set the operation to "renewing" (REST: POST …/renew) to renew them`,
    ],
    [
      'a handshake fails for it',
      { servers: [server(1, { state: 'expired', certificateEnds: inDays(29) })] },
      'False Expired: expired are the certificates of the API server at 10.0.0.1; set the operation to "renewing" (REST: POST …/renew) to renew them',
    ],
    [
      'a kubelet of a worker has one that ends in 29 days',
      { nodes: [node(1), node(2), node(3), reporting(4, 29)] },
      'True ExpiresSoon: certificates end within 30 days: of n4 (10.0.0.4, /var/lib/kubelet/pki/kubelet.crt); set the operation to "renewing" (REST: POST …/renew) to renew them',
    ],
    [
      'a control plane has one that has ended, though its API server serves another',
      { nodes: [reporting(1, -1), node(2), node(3), node(4)] },
      'False Expired: expired are the certificates of n1 (10.0.0.1, /var/lib/kubelet/pki/kubelet.crt); set the operation to "renewing" (REST: POST …/renew) to renew them',
    ],
    ['one has not shown its own yet', { servers: [server(1), ...silent] }, 'undefined undefined: undefined'],
  ])('has the right status when %s', (_, seen, says) => {
    expect(said('CertificatesValid', seen)).toBe(says);
  });
});

it('finds when the first certificate ends', () => {
  expect(judge(well, hosts, now).certificatesEnd).toEqual(inDays(300));
  const nodes = [node(1), node(2), node(3), reporting(4, 200)];
  expect(judge({ ...well, nodes }, hosts, now).certificatesEnd).toEqual(inDays(200));
});

it('judges equal facts equally, in any order and at any time', () => {
  const seen = {
    ...well,
    servers: [server(1, { state: 'silent' }), server(2, { state: 'silent' }), server(3)],
  };
  const turned = { ...seen, servers: seen.servers.toReversed(), nodes: well.nodes?.toReversed() ?? [] };
  expect(judge(turned, hosts, inDays(1))).toEqual(judge(seen, hosts, now));
});
