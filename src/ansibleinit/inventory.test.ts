import { describe, expect, it } from 'vitest';
import { eventFrom } from './event.ts';
import { completeInventory } from './inventory.ts';
import { forClients } from './kubeconfig.ts';
import { readSettings, type Settings } from './settings.ts';

const host = { ansible_host: '10.0.0.1', ip: '10.0.0.1', ansible_port: 22, ansible_user: 'root' };
const environment = {
  OPERATION: 'create',
  CLUSTER_NAME: 'demo',
  CLUSTER_NAMESPACE: 'default',
  CLUSTER_ID: 'id1',
  SEQUENCE: '3',
  ATTEMPT: '2',
  JOB_NAME: 'create-x-2',
  POD_UID: 'uid',
  MATRYOSHKA_ETC: '/nonexistent',
  HOSTS_YAML: JSON.stringify({
    all: {
      vars: { kube_version: 'v1.34.4' },
      children: {
        'kube-master': { hosts: { a: host } },
        'kube-node': {},
        etcd: {},
        leaving: { hosts: { b: { ...host, ip: '10.0.0.2' } } },
      },
    },
  }),
};

/** Settings without mounts: the artifacts are given instead of read. */
function settings(siteVars: Record<string, unknown> = {}): Settings {
  const artifacts = { baseUrl: 'http://meta:32080', releases: { 'v1.34.4': { artifact_files: {} } } };
  const { OPERATION, SEQUENCE, ATTEMPT, ...rest } = environment;
  expect([OPERATION, SEQUENCE, ATTEMPT]).toEqual(['create', '3', '2']);
  const children = {
    'kube-master': { hosts: { a: host } },
    'kube-node': { hosts: {} },
    etcd: { hosts: {} },
    leaving: { hosts: { b: { ...host, ip: '10.0.0.2' } } },
  };
  return {
    ...rest,
    OPERATION: 'create',
    SEQUENCE: 3,
    ATTEMPT: 2,
    CLUSTER_REGION: '',
    MASTER_HOSTS: '',
    NODE_HOSTS: '',
    ETCD_HOSTS: '',
    PLAYBOOKS: '',
    TOKEN_FILE: '',
    WORK_DIR: '',
    TERMINATION_LOG: '',
    inventory: { all: { vars: { kube_version: 'v1.34.4' }, children } },
    artifacts,
    siteVars,
    limits: { cpus: 2, memoryMiB: 1, diskGiB: 1, clockSkewSeconds: 1, swap: false },
    access: { knownHosts: '' },
    caFile: '',
  };
}

describe('the inventory that Ansible reads', () => {
  it('has the epoch, the artifacts and the site’s variables', () => {
    expect(
      completeInventory(settings({ kubelet_config: { failSwapOn: false } }), new Set()).all.vars,
    ).toMatchObject({
      operation_sequence: 3,
      operation_attempt: 2,
      pod_uid: 'uid',
      artifacts_base_url: 'http://meta:32080',
      artifact_files: {},
      kubelet_config: { failSwapOn: false },
    });
  });

  it('keeps plays off hosts that are away or not ours, though not their nodes', () => {
    const { children } = completeInventory(settings(), new Set(['10.0.0.2'])).all;
    expect(Object.keys(children.leaving.hosts)).toEqual(['b']);
    expect(Object.keys(children.untouched.hosts)).toEqual(['b']);
  });

  it('lets no site change how Ansible itself works', () => {
    expect(() => completeInventory(settings({ ansible_python_interpreter: '/tmp/x' }), new Set())).toThrow(
      'ansible_python_interpreter',
    );
  });

  it('says which setting is missing', () => {
    expect(() => readSettings({ ...environment, SEQUENCE: undefined })).toThrow('SEQUENCE');
  });
});

it('gives clients outside the address behind the endpoint’s name', () => {
  const config =
    'clusters: [{name: a, cluster: {server: "https://api.internal:6443", extra: 1}}]\nusers: []\n';
  expect(forClients(config, '10.0.0.1')).toContain('server: https://10.0.0.1:6443');
  expect(forClients(config, 'fd00::1')).toContain('https://[fd00::1]:6443');
});

it('takes a line that is no event as information', () => {
  const now = new Date('2026-01-01T00:00:00Z');
  expect(eventFrom('[WARNING]: odd', now)).toMatchObject({ event: 'info', message: '[WARNING]: odd' });
  expect(eventFrom('{"time":"t","event":"ok","host":"a"}', now)).toEqual({
    time: 't',
    event: 'ok',
    host: 'a',
  });
});
