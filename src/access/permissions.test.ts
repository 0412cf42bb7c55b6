import { expect, it } from 'vitest';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { onKubeconfig, onSettings } from './permissions.ts';

const spec = (settings: Omit<Spec['cluster'], 'masterList'>): Spec => ({
  cluster: { masterList: [{ ip: '10.0.0.1' }], ...settings },
});
const patches = [{ target: 'kube-apiserver' as const, merge: {} }];

it.each<[string, Spec | undefined, Spec, boolean]>([
  ['a new object', undefined, spec({ imagesRegistry: 'a.example.com' }), false],
  ['an edit of hosts', spec({}), spec({ nodeList: [{ ip: '10.0.0.2' }] }), false],
  ['another registry', spec({}), spec({ imagesRegistry: 'a.example.com' }), true],
  ['fields of the kubelet', spec({}), spec({ kubeadm: { kubelet: { authorization: {} } } }), true],
  ['patches that go', spec({ kubeadm: { patches } }), spec({}), true],
  ['names in certificates', spec({}), spec({ kubeadm: { certSANs: ['a.example.com'] } }), false],
])('requires the kubeconfig permission or not: %s', (_what, before, after, expected) => {
  const permissions = onSettings(before, after, { namespace: 'a', name: 'demo' });
  expect(permissions).toEqual(expected ? [onKubeconfig('a', 'demo')] : []);
});
