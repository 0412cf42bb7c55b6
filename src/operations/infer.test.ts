import { expect, it } from 'vitest';
import type { HostEntry } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { infer } from './infer.ts';
import { resolveSpec } from './resolve.ts';

const MASTER = { ip: '10.0.0.1' };
const spec = (...nodeList: HostEntry[]) => ({ cluster: { masterList: [MASTER], nodeList } });
const marked = { ip: '10.0.0.2', labels: { rack: 'r1' } };
const present = spec(marked);

it('starts an edit by itself if it is one operation that removes nothing', () => {
  expect(infer(present, present)).toEqual({ kind: 'nothing' });
  expect(infer(present, spec(marked, { ip: '10.0.0.3' }))).toMatchObject({ operation: { name: 'scale-up' } });
  expect(infer(present, spec({ ip: '10.0.0.2' }))).toMatchObject({ operation: { name: 'relabel' } });
});

it('requires confirmation before hosts are removed, unless the policy allows it', () => {
  const [first, ordered] = [{ ip: '10.0.0.3' }, { policy: { inferDestructive: true } }];
  expect(infer(present, spec())).toMatchObject({ kind: 'needs-confirmation' });
  expect(infer(present, { ...spec(), policy: { inferDestructive: false } })).toMatchObject({
    kind: 'needs-confirmation',
  });
  expect(infer(present, { ...spec(), ...ordered })).toMatchObject({ operation: { name: 'scale-down' } });
  expect(infer(present, { ...spec(first), ...ordered })).toMatchObject({ operation: { name: 'replace' } });
  expect(infer(present, { ...present, ...ordered })).toEqual({ kind: 'nothing' });
});

it('never upgrades without the operation annotation, whatever the policy allows', () => {
  const at = (kubeVersion: string): Spec => ({
    ...present,
    cluster: { ...present.cluster, kubeVersion },
    policy: { inferDestructive: true },
  });
  expect(infer(at('v1.34.4'), at('v1.35.4'))).toMatchObject({
    kind: 'needs-confirmation',
    message: 'set the operation to "updating" for spec.cluster.kubeVersion (upgrade kubernetes)',
  });
});

it('names the hosts of each part of an edit with several operations', () => {
  expect(infer(present, spec({ ip: '10.0.0.2' }, { ip: '10.0.0.3' }))).toMatchObject({
    kind: 'not-offered',
    message:
      'this changes labels or taints (10.0.0.2) and adds workers (10.0.0.3) at once; ' +
      'apply one of these alone, and the next when that is done',
  });
});

it('waits for a confirmation of changed settings, refuses some, and keeps omitted ones', () => {
  const made = (kubeadm?: Spec['cluster']['kubeadm']): Spec => ({
    cluster: { ...present.cluster, ...(kubeadm ? { kubeadm } : {}) },
  });
  const applied = made({ certSANs: ['a'], kubelet: { maxPods: 50 } });
  expect(infer(applied, made())).toEqual({ kind: 'nothing' });
  expect(infer(applied, made({ kubelet: { maxPods: 50 }, certSANs: ['a'] }))).toEqual({ kind: 'nothing' });
  for (const edited of [{ certSANs: ['a'] }, { certSANs: ['b'], kubelet: { maxPods: 50 } }, {}])
    expect(infer(applied, made(edited))).toMatchObject({
      kind: 'needs-confirmation',
      operation: { name: 'reconfigure' },
    });
  const as = { certSANs: ['a'], kubelet: { maxPods: 50 } };
  const patches = [{ target: 'etcd' as const, merge: { metadata: {} } }];
  for (const [field, more] of Object.entries({
    encryptionAtRest: { encryptionAtRest: true },
    patches: { patches },
  }))
    expect(infer(applied, made({ ...as, ...more }))).toMatchObject({
      kind: 'not-offered',
      message: `spec.cluster.kubeadm.${field} cannot be changed yet; put back what the cluster was made with`,
    });
  // A setting that is off is the same as one that is left out.
  expect(infer(applied, made({ ...as, encryptionAtRest: false }))).toEqual({ kind: 'nothing' });
  const offer = { versions: ['v1.34.4'] };
  expect(resolveSpec(made(), offer, 'v1.34.4', applied).cluster.kubeadm).toEqual(applied.cluster.kubeadm);
});

it('refuses a change from or to no pod network, and keeps an omitted one', () => {
  const made = (network?: 'flannel' | 'flannel-policies' | 'none'): Spec => ({
    ...present,
    ...(network ? { addons: { network } } : {}),
  });
  const offer = { versions: ['v1.34.4'] };
  for (const network of ['flannel-policies', 'none'] as const) {
    expect(infer(made(network), made())).toEqual({ kind: 'nothing' });
    expect(resolveSpec(made(), offer, 'v1.34.4', made(network)).addons).toEqual({ network });
  }
  for (const [before, after] of [
    ['none', 'flannel'],
    ['flannel-policies', 'none'],
  ] as const)
    expect(infer(made(before), made(after))).toMatchObject({
      kind: 'not-offered',
      message: 'spec.addons.network cannot be changed yet; put back what the cluster was made with',
      fields: ['spec.addons.network'],
    });
  for (const [before, after] of [
    ['flannel', 'flannel-policies'],
    ['flannel-policies', 'flannel'],
    [undefined, 'flannel-policies'],
  ] as const)
    expect(infer(made(before), made(after))).toMatchObject({
      kind: 'needs-confirmation',
      operation: { name: 'reconfigure' },
    });
  expect(infer(made(), made('flannel'))).toEqual({ kind: 'nothing' });
  expect(resolveSpec(made(), offer, undefined).addons).toEqual({ network: 'flannel' });
});
