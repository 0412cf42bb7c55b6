import { expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { changesRule } from './settings-use.ts';

type Settings = Omit<KubernetesCluster['spec']['cluster'], 'masterList'>;
const cluster = (settings: Settings): KubernetesCluster => ({
  metadata: { namespace: 'a', name: 'demo' },
  spec: { cluster: { masterList: [{ ip: '10.0.0.1' }], ...settings } },
});
const patches = [{ target: 'kube-apiserver' as const, merge: {} }];

it.each<[string, KubernetesCluster | undefined, KubernetesCluster, boolean]>([
  ['a new object', undefined, cluster({ imagesRegistry: 'a.example.com' }), false],
  ['an edit of hosts', cluster({}), cluster({ nodeList: [{ ip: '10.0.0.2' }] }), false],
  ['another registry', cluster({}), cluster({ imagesRegistry: 'a.example.com' }), true],
  ['fields of the kubelet', cluster({}), cluster({ kubeadm: { kubelet: { authorization: {} } } }), true],
  ['patches that go', cluster({ kubeadm: { patches } }), cluster({}), true],
  ['names in certificates', cluster({}), cluster({ kubeadm: { certSANs: ['a.example.com'] } }), false],
])('%s', (_what, old, next, expected) => {
  expect(changesRule({ old, next })).toBe(expected);
});
