import { describe, expect, it } from 'vitest';
import { clusterHostsOf } from '#api/cluster-host.ts';
import type { HostEntry } from '#api/host.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { asksAnew, usesSecretAnew } from './secret-use.ts';

const cluster = (
  nodeList: HostEntry[] = [{ ip: '10.0.0.2' }],
  marked: Record<string, string> = {},
  more: object = {},
): KubernetesCluster => ({
  metadata: { namespace: 'a', name: 'demo', annotations: marked },
  spec: { cluster: { masterList: [{ ip: '10.0.0.1' }], nodeList, ...more } },
});
const word = (text: string) => ({ [annotations.operation]: text });
const dry = { [annotations.dryRun]: 'All' };

it.each<[string, KubernetesCluster | undefined, KubernetesCluster, boolean]>([
  ['a new object', undefined, cluster(), true],
  ['a label of a host', cluster(), cluster([{ ip: '10.0.0.2', labels: { a: 'b' } }]), true],
  ['a label that is dropped', cluster([{ ip: '10.0.0.2', labels: { a: 'b' } }]), cluster(), true],
  ['a label of the object', cluster(), cluster(undefined, { note: 'x' }), false],
  [
    'a dry run',
    cluster(undefined, word('scaling-up')),
    cluster(undefined, { ...word('scaling-up'), ...dry }),
    true,
  ],
  ['the end of a dry run', cluster([], dry), cluster([]), true],
  ['a dry run of a deletion', cluster([], dry), cluster([], { ...dry, ...word('terminating') }), true],
  ['a worker less', cluster(), cluster([]), false],
  ['a worker more', cluster(), cluster([{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }]), true],
  ['another port', cluster(), cluster([{ ip: '10.0.0.2', port: 2222 }]), true],
  ['the default port, written out', cluster(), cluster([{ ip: '10.0.0.2', port: 22 }]), false],
  ['another user', cluster(), cluster([{ ip: '10.0.0.2', user: 'admin' }]), true],
  ['another Secret', cluster(), cluster(undefined, {}, { credentialsSecret: 'keys' }), true],
  ['no Secret any more', cluster(undefined, {}, { credentialsSecret: 'keys' }), cluster(), true],
  [
    'a deadline',
    cluster(undefined, word('creating')),
    cluster(undefined, word('creating'), { timeout_mins: '9' }),
    false,
  ],
  ['a word', cluster(undefined, word('create-failed')), cluster(undefined, word('creating')), true],
  ['the removal of workers', cluster(), cluster([], word('scaling-down')), true],
  ['a word that is dropped', cluster(undefined, word('creating')), cluster(), false],
  ['deletion', cluster(), cluster(undefined, word('terminating')), false],
  ['a request-id', cluster(), cluster(undefined, { [annotations.requestId]: '2' }), true],
  [
    'another spec under the same word',
    cluster(undefined, word('creating')),
    cluster([], word('creating')),
    true,
  ],
])('requires the Secret permission or not: %s', (_what, old, next, expected) => {
  expect(usesSecretAnew({ old, next, hosts: [] })).toBe(expected);
});

describe('the Secret permission for a policy', () => {
  const spare = { ip: '10.0.0.9' };
  const under = (policy?: Spec['policy']): KubernetesCluster => {
    const made = cluster();
    return { ...made, spec: { ...made.spec, ...(policy ? { policy } : {}) } };
  };
  it.each<[string, Spec['policy'], Spec['policy'], boolean]>([
    ['that names a spare', undefined, { replaceFrom: [spare] }, true],
    ['that names another', { replaceFrom: [spare] }, { replaceFrom: [{ ip: '10.0.0.8' }] }, true],
    ['that names a host of the cluster', undefined, { replaceFrom: [{ ip: '10.0.0.2' }] }, true],
    ['with another port', { replaceFrom: [spare] }, { replaceFrom: [{ ...spare, port: 2222 }] }, true],
    ['with leave to wipe', { replaceFrom: [spare] }, { replaceFrom: [{ ...spare, reclaim: 'x' }] }, true],
    [
      'that replaces sooner',
      { replaceFrom: [spare] },
      { replaceFrom: [spare], replaceAfterMinutes: 1 },
      true,
    ],
    [
      'that replaces more often',
      { replaceFrom: [spare], replaceAtMostEveryHours: 48 },
      { replaceFrom: [spare] },
      true,
    ],
    [
      'that replaces later',
      { replaceFrom: [spare] },
      { replaceFrom: [spare], replaceAfterMinutes: 60 },
      false,
    ],
    [
      'with its defaults written out',
      { replaceFrom: [spare] },
      { replaceFrom: [spare], replaceAfterMinutes: 10, replaceAtMostEveryHours: 24 },
      false,
    ],
    ['without the spare', { replaceFrom: [spare] }, { replaceFrom: [] }, false],
    ['that goes', { replaceFrom: [spare] }, undefined, false],
    ['that names nobody', undefined, { replaceAfterMinutes: 1 }, false],
    ['that lets edits take hosts out', undefined, { inferDestructive: true }, true],
    ['that goes on letting them', { inferDestructive: true }, { inferDestructive: true }, false],
    ['that lets them no more', { inferDestructive: true }, { inferDestructive: false }, false],
    ['that renews certificates', undefined, { autoRenew: {} }, true],
    ['with another window', { autoRenew: { from: '01:00', to: '02:00' } }, { autoRenew: {} }, true],
    ['with the same window', { autoRenew: {} }, { autoRenew: {} }, false],
    ['that no longer renews', { autoRenew: {} }, {}, false],
  ])('%s', (_what, old, next, expected) => {
    expect(usesSecretAnew({ old: under(old), next: under(next), hosts: [] })).toBe(expected);
  });
});

it('requires the Secret permission if a partial revert starts an operation', () => {
  const applied = { [annotations.applied]: JSON.stringify({ sequence: 1, spec: { cluster: {} } }) };
  const hosts: HostRecord[] = [...clusterHostsOf(cluster().spec.cluster).values()].map((host) => ({
    metadata: { name: host.ip },
    spec: { clusterId: 'x', cluster: 'a/demo', ...host },
    status: { state: 'Joined' },
  }));
  const failed = { ...applied, ...word('scale-up-failed') };
  const [two, three, four] = ['10.0.0.2', '10.0.0.3', '10.0.0.4'].map((ip) => ({ ip }));
  if (!two || !three || !four) throw new Error('there are three');
  const old = cluster([two, three, four], failed);
  expect(usesSecretAnew({ old, next: cluster([two, three], failed), hosts })).toBe(true);
  // A complete revert starts nothing. Neither does the removal of present workers, which waits for its operation annotation.
  expect(usesSecretAnew({ old, next: cluster([two], failed), hosts })).toBe(false);
  expect(usesSecretAnew({ old, next: cluster([], failed), hosts })).toBe(false);
  // With `inferDestructive`, an edit that removes hosts starts an operation as well.
  const ordered = (one: KubernetesCluster): KubernetesCluster => ({
    ...one,
    spec: { ...one.spec, policy: { inferDestructive: true } },
  });
  expect(usesSecretAnew({ old: ordered(old), next: ordered(cluster([], failed)), hosts })).toBe(true);
  expect(asksAnew(cluster([], failed), ordered(cluster([], failed)), hosts)).toBe(true);
});

it('requires the Secret permission if the removal of terminating starts a waiting spec', () => {
  const applied = { [annotations.applied]: JSON.stringify({ sequence: 1, spec: { cluster: {} } }) };
  const hosts: HostRecord[] = [...clusterHostsOf(cluster([]).spec.cluster).values()].map((host) => ({
    metadata: { name: host.ip },
    spec: { clusterId: 'x', cluster: 'a/demo', ...host },
    status: { state: 'Joined' },
  }));
  const next = cluster(undefined, applied);
  const before = cluster(undefined, { ...applied, ...word('terminating') });
  expect(usesSecretAnew({ old: before, next, hosts })).toBe(true);
});
