import { describe, expect, it } from 'vitest';
import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import type { Change } from './change.ts';
import { validateKubernetesCluster } from './kubernetes-cluster.ts';

const cluster = (marked: Record<string, string> = {}, more: object = {}): KubernetesCluster => ({
  metadata: { namespace: 'a', name: 'demo', annotations: marked },
  spec: { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList: [{ ip: '10.0.0.2' }], ...more } },
});
const record = {
  [annotations.clusterId]: 'x',
  [annotations.applied]: JSON.stringify({ sequence: 1, spec: { cluster: {} } }),
};
/** Returns the records of a cluster's hosts after they joined. */
const joined = (of: Spec['cluster']): HostRecord[] =>
  [...clusterHostsOf(of).values()].map((host) => ({
    metadata: { name: host.ip },
    spec: { clusterId: 'x', cluster: 'a/demo', ...host },
    status: { state: 'Joined' },
  }));
const fields = (
  old: KubernetesCluster | undefined,
  next: KubernetesCluster,
  user = 'alice',
  hosts = joined(cluster().spec.cluster),
): string[] => {
  const change: Change = {
    old,
    next,
    user,
    controllerUser: 'controller',
    offer: { versions: ['v1.34.4'] },
    hosts,
  };
  return validateKubernetesCluster(change).map(({ field }) => field);
};
const word = (text: string) => ({ [annotations.operation]: text });
const operation = `metadata.annotations[${annotations.operation}]`;
const dryRun = `metadata.annotations[${annotations.dryRun}]`;
const requestId = `metadata.annotations[${annotations.requestId}]`;
const nodes = (...last: number[]) => ({ nodeList: last.map((part) => ({ ip: `10.0.0.${part}` })) });

describe('validateKubernetesCluster', () => {
  it.each([
    ['failed', []],
    ['finished', ['spec.cluster.kubeVersion']],
  ] as const)('decides on a rollback after an upgrade that has %s', (result, refused) => {
    const update = { word: 'updating', requestId: '1', specHash: 'x', sequence: 2, result };
    const old: KubernetesCluster = { ...cluster(record), status: { requests: [update] } };
    expect(fields(old, cluster({ ...record, ...word('rollbacking') }))).toEqual(refused);
  });

  it('refuses to remove an omitted pod network, and accepts the same', () => {
    const made = {
      [annotations.clusterId]: 'x',
      [annotations.applied]: JSON.stringify({
        sequence: 1,
        spec: { cluster: {}, addons: { network: 'flannel-policies' } },
      }),
    };
    const of = (network: 'flannel' | 'flannel-policies' | 'none') => {
      const old = cluster(made);
      return fields(old, { ...old, spec: { ...old.spec, addons: { network } } });
    };
    expect(of('none')).toEqual(['spec.addons.network']);
    for (const network of ['flannel-policies', 'flannel'] as const) expect(of(network)).toEqual([]);
  });

  it('accepts a manifest that is applied again after its operation, and refuses another request', () => {
    const version = { kubeVersion: 'v1.34.4' };
    const manifest = (id: string) =>
      cluster({ ...record, ...word('updating'), [annotations.requestId]: id }, version);
    const present = cluster({ ...record, ...word('update-finished') }, version);
    const request = { word: 'updating', requestId: '1', specHash: specHashOf(present.spec), sequence: 2 };
    const upgraded: KubernetesCluster = {
      ...present,
      status: { version: 'v1.34.4', requests: [{ ...request, result: 'finished' }] },
    };
    expect(fields(upgraded, manifest('1'))).toEqual([]);
    expect(fields(upgraded, manifest('2'))).toEqual(['spec.cluster.kubeVersion']);
  });

  it.each<[string, KubernetesCluster | undefined, KubernetesCluster, string[]]>([
    ['a new one', undefined, cluster(word('creating')), []],
    ['a restored one', undefined, cluster({ ...record, ...word('create-finished') }), []],
    ['a result from nowhere', undefined, cluster(word('create-finished')), [operation]],
    ['a result', cluster(record), cluster({ ...record, ...word('create-finished') }), [operation]],
    [
      'a result that was there',
      cluster(word('create-failed')),
      cluster({ ...word('create-failed'), x: 'y' }),
      [],
    ],
    ['a result that is dropped', cluster(word('create-failed')), cluster(), []],
    ['an unknown word', cluster(), cluster(word('dancing')), [operation]],
    ['growing', cluster(record), cluster({ ...record, ...word('scaling-up') }, nodes(2, 3)), []],
    [
      'growing by dropping',
      cluster(record),
      cluster({ ...record, ...word('scaling-up') }, nodes(3)),
      ['spec.cluster.nodeList'],
    ],
    [
      'shrinking by adding',
      cluster(record),
      cluster({ ...record, ...word('scaling-down') }, nodes(2, 3)),
      ['spec.cluster.nodeList'],
    ],
    ['growing what is not there', cluster(), cluster(word('scaling-up'), nodes(2, 3)), [operation]],
    ['another region', cluster({}, { region: 'a' }), cluster({}, { region: 'b' }), ['spec.cluster.region']],
    ['a region that comes late', cluster(), cluster({}, { region: 'b' }), ['spec.cluster.region']],
    [
      'an old problem beside a new label',
      cluster({}, { kubeVersion: 'v1.0.0' }),
      cluster({ x: 'y' }, { kubeVersion: 'v1.0.0' }),
      [],
    ],
    ...(['imagesRegistry', 'externalLoadBalancer'] as const).map(
      (field): [string, KubernetesCluster, KubernetesCluster, string[]] => [
        `${field}, which no operation changes`,
        cluster(record),
        cluster(record, { [field]: '10.0.0.9' }),
        [`spec.cluster.${field}`],
      ],
    ),
    [
      'another version, which waits for its word',
      cluster(record),
      cluster(record, { kubeVersion: 'v1.34.4' }),
      [],
    ],
    [
      'another master, which waits for its word',
      cluster(record),
      cluster({ ...record, ...word('creating') }, { masterList: [{ ip: '10.0.0.9' }] }),
      [],
    ],
    ['a worker more', cluster(record), cluster(record, nodes(2, 3)), []],
    ['a worker less, which waits for its word', cluster(record), cluster(record, nodes()), []],
    [
      'a worker in the place of another, which waits for its word',
      cluster(record),
      cluster(record, nodes(3)),
      [],
    ],
    [
      'a worker that becomes a master',
      cluster(record),
      cluster(record, { masterList: [{ ip: '10.0.0.2' }], nodeList: [] }),
      ['spec.cluster.masterList'],
    ],
    [
      'a worker beside what was let in before',
      cluster(record, { imagesRegistry: 'r' }),
      cluster(record, { imagesRegistry: 'r', ...nodes(2, 3) }),
      [],
    ],
    ['the way back', cluster(record, { imagesRegistry: 'r' }), cluster(record), []],
    ['everything, before it is created', cluster(), cluster({}, { imagesRegistry: 'r' }), []],
    ['a dry run that is none', cluster(), cluster({ [annotations.dryRun]: 'true' }), [dryRun]],
    ['a dry run', cluster(), cluster({ [annotations.dryRun]: 'All' }), []],
    [
      'a request-id that is far too long',
      cluster(),
      cluster({ [annotations.requestId]: 'x'.repeat(254) }),
      [requestId],
    ],
    ['a long request-id', cluster(), cluster({ [annotations.requestId]: 'x'.repeat(253) }), []],
    ['a wrong shape', cluster(), cluster({}, nodes(2, 999)), ['spec.cluster.nodeList[1].ip']],
    ['a doubled host', cluster(), cluster({}, nodes(2, 2)), ['spec.cluster.nodeList[1].ip']],
  ])('checks a write: %s', (_what, old, next, expected) => {
    expect(fields(old, next)).toEqual(expected);
  });

  it('accepts a manifest that always says creating, even without an etcd member', () => {
    const lists = (...last: number[]) => ({ masterList: nodes(...last).nodeList, nodeList: [] });
    const [before, after] = [lists(1, 2, 3), lists(1, 2, 8)];
    const asked = (marked: Record<string, string>): string[] =>
      fields(cluster(marked, before), cluster(marked, after), 'alice', joined(before));
    expect(asked({ ...record, ...word('creating') })).toEqual([]);
    // A creation after a failed one would reset that etcd member.
    expect(asked(word('creating'))).toEqual(['spec.cluster.masterList']);
  });

  it('lets only the controller write its annotations', () => {
    expect(fields(cluster(), cluster({ ...record, ...word('create-finished') }), 'controller')).toEqual([]);
    expect(fields(cluster(record), cluster())).toHaveLength(2);
  });

  it('lets the controller edit the spec only to replace a control plane with a spare', () => {
    const [spare, other] = [{ ip: '10.0.0.8' }, { ip: '10.0.0.9' }];
    const masters = (...last: number[]) => last.map((part) => ({ ip: `10.0.0.${part}` }));
    const lists = (...last: number[]) => ({ masterList: masters(...last), nodeList: masters(1) });
    const under = (
      policy: Spec['policy'],
      change: object,
      marked: Record<string, string> = word('replacing'),
    ): KubernetesCluster => {
      const made = cluster({ ...record, ...marked }, change);
      return { ...made, spec: { ...made.spec, ...(policy ? { policy } : {}) } };
    };
    const old = under({ replaceFrom: [spare, other] }, lists(1, 2, 3), word('create-finished'));
    const judged = (next: KubernetesCluster, user = 'controller') =>
      fields(old, next, user, joined(lists(1, 2, 3)));
    const left = { replaceFrom: [other] };
    expect(judged(under(left, lists(1, 8, 3)))).toEqual([]);
    // The same write by another user is judged as usual.
    expect(judged(under(left, lists(1, 8, 3)), 'alice')).toEqual([]);
    const others: KubernetesCluster[] = [
      under(left, lists(1, 8, 3), word('replace-finished')),
      under({ replaceFrom: [spare, other] }, lists(1, 7, 3)),
      under(left, lists(1, 7, 3)),
      under({ replaceFrom: [] }, lists(1, 8, 9)),
      under(left, { ...lists(1, 8, 3), credentialsSecret: 'keys' }),
      under({ ...left, replaceAfterMinutes: 1 }, lists(1, 8, 3)),
      under(left, { masterList: masters(1, 8, 3), nodeList: [] }),
    ];
    for (const next of others) expect(judged(next)).toContain('spec');
  });

  it('lets only the controller write the time of the last remediation', () => {
    const remedied = { [annotations.remediedAt]: '2026-01-01T00:00:00.000Z' };
    expect(fields(cluster(record), cluster({ ...record, ...remedied }))).toHaveLength(1);
    expect(fields(cluster({ ...record, ...remedied }), cluster(record))).toHaveLength(1);
    expect(fields(cluster(record), cluster({ ...record, ...remedied }), 'controller')).toEqual([]);
  });
});
