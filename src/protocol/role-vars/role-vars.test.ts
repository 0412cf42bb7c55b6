import { describe, expect, it } from 'vitest';
import type { Duty } from '#api/cluster-host.ts';
import { inventoryOf } from '../inventory.ts';
import type { PlannedHost, RunSpec } from '../run-spec.ts';
import { withRoleVars } from './role-vars.ts';

const STACKED: Duty[] = ['control-plane', 'etcd'];
const host = (ip: string, duties: Duty[], action: PlannedHost['action'] = 'join'): PlannedHost => ({
  member: { ip, name: `n-${ip.replaceAll(/[.:]+/g, '-')}`, duties },
  action,
});
const images = [
  { image: 'registry.k8s.io/etcd:3', path: 'e', sha256: 'e', hosts: 'masters' },
  { image: 'registry.k8s.io/coredns/coredns:v1', path: 'c', sha256: 'c', hosts: 'all' },
  { image: 'docker.io/library/haproxy:3', path: 'h', sha256: 'h', hosts: 'balanced' },
  { image: 'ghcr.io/flannel-io/flannel:v0', path: 'f', sha256: 'f', hosts: 'all' },
  { image: 'docker.io/cloudnativelabs/kube-router:v2', path: 'k', sha256: 'k', hosts: 'all' },
];
const components = {
  etcd: 'registry.k8s.io/etcd:3',
  balancer: 'docker.io/library/haproxy:3',
  flannel: 'ghcr.io/flannel-io/flannel:v0',
  'kube-router': 'docker.io/cloudnativelabs/kube-router:v2',
};
const runSpec = (hosts: PlannedHost[], endpoint: RunSpec['endpoint'], vars = {}): RunSpec => ({
  task: 'create',
  callback: 'create',
  cluster: { id: 'c1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'j', sequence: 1, attempt: 1 },
  steps: [],
  hosts,
  username: 'root',
  precheck: 'all',
  brings: [],
  endpoint,
  vars: {
    kube_version: 'v1.34.4',
    pod_cidr: '10.244.0.0/16',
    service_cidr: '10.96.0.0/16',
    artifact_images: images,
    component_images: components,
    ...vars,
  },
});
const own = { name: 'api.c1.matryoshka.internal', address: '10.0.0.1' };
const of = (...given: Parameters<typeof runSpec>) => withRoleVars(inventoryOf(runSpec(...given)).all);

describe('three control planes and a worker', () => {
  const { hosts, vars } = of(
    [
      ...['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((ip) => host(ip, STACKED)),
      host('10.0.0.4', ['worker']),
      host('10.0.0.5', [...STACKED, 'worker'], 'leave'),
    ],
    own,
  );

  it('use the local API server first; the worker uses its load balancer', () => {
    expect(hosts['10.0.0.2']).toMatchObject({
      is_master: true,
      balanced: false,
      endpoint_addresses: ['10.0.0.2', '10.0.0.1', '10.0.0.3'],
    });
    expect(hosts['10.0.0.4']).toMatchObject({
      is_master: false,
      balanced: true,
      endpoint_addresses: ['127.0.0.1'],
    });
    expect(vars).toMatchObject({ endpoint: 'api.c1.matryoshka.internal:6443' });
  });

  it('exclude leaving hosts', () => {
    const stay = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
    expect(vars).toMatchObject({ control_planes: stay, etcd_members: stay, leaving: ['10.0.0.5'] });
  });

  it('load the images of their duties', () => {
    const loads = (ip: string) => vars.image_sets[hosts[ip]?.image_set ?? '']?.map(({ path }) => path);
    expect([loads('10.0.0.1'), loads('10.0.0.4')]).toEqual([
      ['e', 'c', 'f'],
      ['c', 'h', 'f'],
    ]);
  });
});

it('gives hosts the address of the load balancer, or none if its name resolves', () => {
  const hosts = [host('10.0.0.1', STACKED), host('10.0.0.4', ['worker'])];
  const addresses = (endpoint: RunSpec['endpoint']) =>
    of(hosts, endpoint).hosts['10.0.0.4']?.endpoint_addresses;
  expect(addresses({ name: 'lb.example', address: '10.0.0.100' })).toEqual(['10.0.0.100']);
  expect(addresses({ name: '10.0.0.100', address: '10.0.0.100' })).toEqual([]);
  expect(addresses({ name: 'lb.example', address: '' })).toEqual([]);
});

it('writes IPv6 addresses of external etcd in brackets, and loads only the etcd image there', () => {
  const { hosts, vars } = of(
    [host('fd00::1', ['control-plane']), host('fd00::6', ['etcd']), host('fd00::7', ['etcd'])],
    { name: 'api.c1.matryoshka.internal', address: 'fd00::1' },
    { pod_cidr: 'fd00:10:244::/56' },
  );
  expect(vars).toMatchObject({
    external_etcd: true,
    etcd_only: ['fd00::6', 'fd00::7'],
    etcd_endpoints: 'https://[fd00::6]:2379,https://[fd00::7]:2379',
    etcd_initial_cluster: 'n-fd00-6=https://[fd00::6]:2380,n-fd00-7=https://[fd00::7]:2380',
    cluster_configuration: {
      etcd: { external: { endpoints: ['https://[fd00::6]:2379', 'https://[fd00::7]:2379'] } },
    },
    flannel_configuration: { EnableIPv4: false, EnableIPv6: true, IPv6Network: 'fd00:10:244::/56' },
  });
  expect(vars.image_sets[hosts['fd00::6']?.image_set ?? '']?.map(({ path }) => path)).toEqual(['e']);
});

it('renames images into a private registry', () => {
  const { hosts, vars } = of([host('10.0.0.1', STACKED)], own, {
    images_registry: 'registry.example/k8s',
    network: 'none',
  });
  expect(vars).toMatchObject({ etcd_image: 'registry.example/k8s/etcd:3' });
  expect(vars.image_sets[hosts['10.0.0.1']?.image_set ?? '']?.map(({ image }) => image)).toEqual([
    'registry.example/k8s/etcd:3',
    'registry.example/k8s/coredns:v1',
  ]);
});

it('gives kubeadm the settings of the cluster, and each name once', () => {
  const { vars } = of([host('10.0.0.1', STACKED)], own, {
    cert_sans: ['10.0.0.1', 'k8s.example'],
    kubelet_config: { maxPods: 50 },
    kube_proxy_config: { mode: 'nftables' },
    kubeadm_patches: { 'etcd00+json.json': [] },
    encryption_at_rest: true,
    audit_policy: { kind: 'Policy' },
    audit_log: { maxage: 7 },
  });
  expect(vars).toMatchObject({
    kubelet_configuration: { cgroupDriver: 'systemd', maxPods: 50 },
    flannel_configuration: { EnableNFTables: true },
    patched: { patches: { directory: '/etc/kubernetes/pki/matryoshka/patches' } },
    cluster_configuration: {
      apiServer: {
        certSANs: ['api.c1.matryoshka.internal', '10.0.0.1', 'k8s.example'],
        extraArgs: expect.arrayContaining([
          { name: 'encryption-provider-config', value: '/etc/kubernetes/pki/matryoshka/encryption.yaml' },
          { name: 'audit-log-maxage', value: '7' },
          { name: 'audit-log-maxsize', value: '100' },
        ]),
      },
    },
  });
});

it('refuses an inventory without the name of the API', () => {
  const { all } = inventoryOf(runSpec([host('10.0.0.1', STACKED)], own));
  const { control_plane_endpoint_name: _name, ...vars } = all.vars;
  expect(() => withRoleVars({ ...all, vars })).toThrow('control_plane_endpoint_name');
});
