import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** Tests when a run reports that the system pods run, for given pod lists. */
const ansible = join(import.meta.dirname, '../..', 'ansible');
const read = (path: string) => readFileSync(join(ansible, path), 'utf8');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ready-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const SINCE = '2026-01-02T03:04:05Z';

interface Pod {
  name?: string;
  namespace?: string;
  phase?: string;
  ready?: string;
  node?: string;
  owner?: string;
  started?: boolean;
  restarts?: number;
  since?: string;
  /** Label k8s-app. */
  app?: string;
}

/** Returns whether the wait for these pods is over, and the output about the others. */
function ready(
  pods: Pod[],
  { network = 'flannel', nodes = ['a=True', 'b=False', 'c=True'], joins = 'a', changed = '' } = {},
) {
  const lines = pods.map(
    ({
      name = 'kube-scheduler-a',
      namespace = 'kube-system',
      phase = 'Running',
      ready = 'True',
      node = 'a',
      owner = 'Node/a',
      started = true,
      restarts = 0,
      since = SINCE,
      app = '',
    }) =>
      ['Pod', namespace, name, phase, ready, node, '', owner, started, restarts, since, app, ''].join('|'),
  );
  const seen = nodes.map((line) => {
    const [, name = '', is = '', message = ''] = /^(.*)=(\S+) ?(.*)$/.exec(line) ?? [];
    return `Node||${name}||${is}||||||||${message}`;
  });
  const script = `${read('files/prelude.sh')}
    kubectl() {
      case "$*" in
        'get nodes '*) printf '%s\\n' ${nodes.map((line) => `'${line}'`).join(' ')} ;;
        'get nodes,pods '*) printf '%s\\n' ${[...seen, ...lines].map((line) => `'${line}'`).join(' ')} ;;
      esac
    }
    curl() { return 1; }
    NETWORK=${network} NODES='${joins}' CHANGED='${changed}' LABELS= UNTAINT= WAIT_SECONDS=1
    ${read('roles/readiness/files/ready.sh')}`;
  const { status, stderr } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  return { done: status === 0, said: stderr };
}

const PROXY = { name: 'kube-proxy-x', owner: 'DaemonSet/kube-proxy' };
const FLANNEL = { namespace: 'kube-flannel', name: 'kube-flannel-ds-x', owner: 'DaemonSet/kube-flannel-ds' };
const DNS = { name: 'coredns-5d-x', owner: 'ReplicaSet/coredns-5d', app: 'kube-dns' };

it.each<[string, Pod]>([
  ['every pod is ready', {}],
  ['a static pod runs that its kubelet has not asked yet', { ready: 'False', started: false }],
  ['a pod of a node that is away is not ready', { node: 'b', ready: 'False' }],
  ['a pod of a user is not ready', { namespace: 'default', owner: 'ReplicaSet/web', ready: 'False' }],
  [
    'a bare pod of a user in kube-system has failed',
    { name: 'etcd-a', phase: 'Failed', ready: 'False', owner: '/' },
  ],
  [
    'a DaemonSet of a user in kube-system is not ready',
    { name: 'csi-x', owner: 'DaemonSet/csi', ready: 'False' },
  ],
  ['a static pod of a user is not ready', { name: 'keepalived-a', ready: 'False' }],
  [
    'a Deployment of a user whose name begins like ours is not ready',
    { ...DNS, owner: 'ReplicaSet/coredns-custom-5d', ready: 'False' },
  ],
  ['kube-proxy of a node that only stays is not ready', { ...PROXY, node: 'c', ready: 'False' }],
  ['static pods of a node that only stays are not ready', { name: 'etcd-c', node: 'c', ready: 'False' }],
  [
    'CoreDNS has no node, and may come to one that only stays',
    { ...DNS, node: '', phase: 'Pending', ready: '' },
  ],
  ['a pod of CoreDNS was evicted', { ...DNS, phase: 'Failed', ready: 'False' }],
])('the wait for system pods ends when %s', (_, pod) => {
  expect(ready([{}, pod])).toEqual({ done: true, said: '' });
});

it.each<[string, Pod]>([
  ['a static pod was asked and is not well', { ready: 'False' }],
  ['a static pod has ended before', { ready: 'False', started: false, restarts: 1 }],
  ['the container of a static pod does not run', { ready: 'False', started: false, since: '' }],
  ['a static pod is not started', { phase: 'Pending', ready: 'False', started: false }],
  ['another pod was not asked yet', { ...PROXY, ready: 'False', started: false }],
  ['flannel is not ready on a node that joins', { ...FLANNEL, ready: 'False' }],
  ['CoreDNS is not ready on a node that joins', { ...DNS, ready: 'False' }],
])('the wait for system pods goes on while %s', (_, pod) => {
  const { done, said } = ready([{}, pod]);
  expect(done).toBe(false);
  expect(said).toContain(`${pod.namespace ?? 'kube-system'}/${pod.name ?? 'kube-scheduler-a'}`);
});

it('the wait goes on while static pods of a changed control plane are not ready', () => {
  const pod = { name: 'etcd-c', owner: 'Node/c', node: 'c', ready: 'False' };
  expect(ready([pod], { changed: 'c' }).done).toBe(false);
});

it('the wait goes on while CoreDNS has no node, if every node joins', () => {
  const pod = { ...DNS, node: '', phase: 'Pending', ready: '' };
  expect(ready([{}, pod], { nodes: ['a=True'] }).done).toBe(false);
});

const WITHOUT =
  'a=False container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady';

it('the wait ends without a pod network if the user installs that', () => {
  const dns = { ...DNS, phase: 'Pending', ready: '', node: '' };
  expect(ready([{}, dns], { network: 'none', nodes: [WITHOUT] })).toEqual({ done: true, said: '' });
});

it.each<[string, string, string, Pod]>([
  ['a node lacks the pod network that is ours', 'flannel', WITHOUT, {}],
  ['a node lacks more than that', 'none', 'a=False container runtime is down', {}],
  ['a static pod has ended', 'none', WITHOUT, { ready: 'False', restarts: 1 }],
])('the wait goes on while %s', (_, network, node, pod) => {
  expect(ready([pod], { network, nodes: [node] }).done).toBe(false);
});
