import { describe, expect, it } from 'vitest';
import type { RunSpec } from '#protocol/run-spec.ts';
import { completeInventory } from './playbook-files.ts';
import { readSettings, type Settings } from './settings.ts';

const runSpec: RunSpec = {
  task: 'create',
  callback: 'create',
  playbook: 'create.yml',
  cluster: { id: 'id1', namespace: 'default', name: 'demo', region: 'default' },
  run: { job: 'create-x-2', sequence: 3, attempt: 2 },
  steps: [],
  hosts: [{ member: { ip: '10.0.0.1', name: 'a', duties: ['control-plane', 'etcd'] }, action: 'join' }],
  username: 'root',
  precheck: 'all',
  brings: ['kubeconfig'],
  endpoint: { name: 'api', address: '10.0.0.1' },
  vars: { kube_version: 'v1.34.4' },
};

const settings = (
  siteVars: Record<string, unknown> = {},
  version = 'v1.34.4',
  vars: Record<string, unknown> = {},
): Settings => ({
  POD_UID: 'uid',
  MATRYOSHKA_ETC: '/nonexistent',
  PLAYBOOKS: '',
  TOKEN_FILE: '',
  SCRATCH_DIR: '/tmp',
  WORK_DIR: '',
  TERMINATION_LOG: '',
  runSpec: { ...runSpec, vars: { kube_version: version, ...vars } },
  artifacts: { baseUrl: 'http://meta:32080', releases: { 'v1.34.4': { artifact_files: {} } } },
  siteVars,
  limits: {},
  access: { knownHosts: '' },
  caFile: '',
});

describe('the inventory that Ansible reads', () => {
  it('has the epoch, the artifacts and the site’s variables', () => {
    const site = { kubelet_config: { failSwapOn: false } };
    expect(completeInventory(settings(site), new Set()).all.vars).toMatchObject({
      operation_sequence: 3,
      operation_attempt: 2,
      pod_uid: 'uid',
      artifacts_base_url: 'http://meta:32080',
      artifact_files: {},
      kubelet_config: { failSwapOn: false },
    });
  });

  it('encodes the registry login so that Ansible finds no template in it', () => {
    const registryLogin = '{"auths":{"r":{"username":"{{ x }}","password":"y"}}}';
    const { vars } = completeInventory(
      { ...settings(), access: { knownHosts: '', registryLogin } },
      new Set(),
    ).all;
    expect(JSON.stringify(vars)).not.toContain('{{');
    expect(vars).toMatchObject({ registry_login: Buffer.from(registryLogin).toString('base64') });
    expect(completeInventory(settings(), new Set()).all.vars).not.toHaveProperty('registry_login');
  });

  it('merges settings of the cluster over those of the site', () => {
    const site = { kubelet_config: { failSwapOn: false, maxPods: 50 }, cert_sans: ['site.example.com'] };
    const own = { kubelet_config: { maxPods: 200 }, cert_sans: ['own.example.com'] };
    expect(completeInventory(settings(site, 'v1.34.4', own), new Set()).all.vars).toMatchObject({
      kubelet_config: { failSwapOn: false, maxPods: 200 },
      cert_sans: ['site.example.com', 'own.example.com'],
    });
  });

  it('refuses site variables of Ansible itself, and ignores those of the operator', () => {
    const site = { ansible_python_interpreter: '/tmp/x' };
    expect(() => completeInventory(settings(site), new Set())).toThrow('ansible_python_interpreter');
    const own = completeInventory(settings({ cluster_id: 'other' }), new Set());
    expect(own.all.vars).toMatchObject({ cluster_id: 'id1' });
  });

  it('reports a version without artifacts', () => {
    expect(() => completeInventory(settings({}, 'v1.33.1'), new Set())).toThrow(
      'no artifacts of Kubernetes v1.33.1',
    );
  });
});

it('names the missing setting', () => {
  expect(() => readSettings({})).toThrow('POD_UID');
  expect(() => readSettings({ POD_UID: 'x', MATRYOSHKA_ETC: '/nonexistent' })).toThrow(
    '/nonexistent/access/order.json',
  );
});
