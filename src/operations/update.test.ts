import { describe, expect, it } from 'vitest';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { planFor } from './plan-for.ts';
import { planHash } from './plan-hash.ts';
import { externalEtcd, ip, records, spec } from './testing/planned.fixture.ts';
import { update } from './update.ts';

const offer = { versions: ['v1.36.3', 'v1.35.4', 'v1.34.6', 'v1.34.4'] };

/** Returns the plan of an upgrade from v1.34.4. */
function upgraded(
  kubeVersion: string,
  of: Spec = spec([1, 2, 3], [4, 5]),
  more: Partial<Spec['cluster']> = {},
) {
  const present = { ...of, cluster: { ...of.cluster, kubeVersion: 'v1.34.4' } };
  return planFor(update, {
    spec: { ...present, cluster: { ...present.cluster, kubeVersion, ...more } },
    applied: present,
    hosts: records(present),
    offer,
    version: 'v1.34.4',
  });
}
const refused = (...given: Parameters<typeof upgraded>) =>
  upgraded(...given).refusals.map(({ field, value, reason }) => `${field} (${value}): ${reason}`);

describe('an upgrade of a cluster of v1.34.4', () => {
  it.each(['v1.34.6', 'v1.35.4'])('to %s is planned for every host', (version) => {
    const { refusals, hosts, steps, target } = upgraded(version);
    expect(refusals).toEqual([]);
    expect(hosts.map(({ member, action }) => [member.ip, action])).toEqual(
      [1, 2, 3, 4, 5].map((last) => [ip(last), 'change']),
    );
    expect(target.cluster.kubeVersion).toBe(version);
    expect(steps.map(({ name }) => name)).not.toContain('Upgrade etcd members');
    expect(steps.find(({ name }) => name === 'Upgrade workers')).toEqual({
      name: 'Upgrade workers',
      hosts: [ip(4), ip(5)],
      pace: { atMost: 1 },
      cut: 'never',
    });
  });

  it.each([
    ['v1.36.3', 'skips a minor version after v1.34.4; choose v1.35.4 or v1.34.6'],
    ['v1.34.4', 'is the version that the cluster has; choose v1.35.4 or v1.34.6'],
    ['v1.34.2', 'is older than v1.34.4, which the cluster has, and Kubernetes supports no downgrade'],
    ['v1.33.9', 'is older than v1.34.4'],
    ['v2.0.0', 'skips a minor version after v1.34.4'],
  ])('to %s is refused', (version, reason) => {
    expect(refused(version).join('\n')).toContain(`spec.cluster.kubeVersion (${version}): ${reason}`);
  });

  it('to a version without artifacts is refused', () => {
    expect(refused('v1.35.1').join('\n')).toMatch(/spec\.cluster\.kubeVersion \(v1\.35\.1\).*v1\.35\.4/);
  });

  it('is refused together with another change', () => {
    expect(refused('v1.35.4', undefined, { nodeList: [{ ip: ip(4) }] })).toEqual([
      `spec.cluster.nodeList (${ip(5)}): host ${ip(5)} is not in the list; ask for "scaling-down" to remove it, or put it back`,
    ]);
  });

  it('is refused with two etcd members, and begins with external ones', () => {
    expect(refused('v1.35.4', spec([1, 2], [4])).join('\n')).toContain('etcd has two members');
    const names = upgraded('v1.35.4', externalEtcd([1], [7, 8, 9])).steps.map(({ name }) => name);
    expect(names.slice(names.indexOf('Save a snapshot of etcd') + 1, -3)).toEqual([
      'Upgrade etcd members',
      'Upgrade the leading etcd member',
      'Upgrade the first control plane',
    ]);
  });

  it('has another plan hash if workers are upgraded in another way', () => {
    const hash = (settings: NonNullable<Spec['cluster']['upgrade']>) =>
      planHash('update', upgraded('v1.35.4', undefined, { upgrade: settings }), 1);
    expect(new Set([{}, { maxUnavailable: 2 }, { drainWorkers: false }].map(hash)).size).toBe(3);
  });
});
