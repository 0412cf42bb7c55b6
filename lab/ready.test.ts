import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** When a run says that the system runs, by what a list of pods tells. */
const ansible = join(import.meta.dirname, '..', 'ansible');
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
}

/** Whether these pods are awaited no more, and what is said of those that are. */
function ready(pods: Pod[], { network = 'flannel', nodes = ['a=True', 'b=False'] } = {}) {
  const lines = pods.map(
    ({
      name = 'kube-scheduler-a',
      namespace = 'kube-system',
      phase = 'Running',
      ready = 'True',
      node = 'a',
      owner = 'Node',
      started = true,
      restarts = 0,
      since = SINCE,
    }) => ['Pod', namespace, name, phase, ready, node, '', owner, started, restarts, since, ''].join('|'),
  );
  const seen = nodes.map((line) => {
    const [, name = '', is = '', message = ''] = /^(.*)=(\S+) ?(.*)$/.exec(line) ?? [];
    return `Node||${name}||${is}|||||||${message}`;
  });
  const script = `${read('files/prelude.sh')}
    kubectl() {
      case "$*" in
        'get nodes '*) printf '%s\\n' ${nodes.map((line) => `'${line}'`).join(' ')} ;;
        'get nodes,pods '*) printf '%s\\n' ${[...seen, ...lines].map((line) => `'${line}'`).join(' ')} ;;
      esac
    }
    curl() { return 1; }
    NETWORK=${network} NODES=a LABELS= UNTAINT= WAIT_SECONDS=1
    ${read('roles/readiness/files/ready.sh')}`;
  const { status, stderr } = spawnSync('bash', ['-c', script], {
    encoding: 'utf8',
    env: { ...process.env, MATRYOSHKA_ROOT: root },
  });
  return { done: status === 0, said: stderr };
}

it.each<[string, Pod]>([
  ['every pod is ready', {}],
  ['a static pod runs that its kubelet has not asked yet', { ready: 'False', started: false }],
  ['a pod of a node that is away is not ready', { node: 'b', ready: 'False' }],
  ['a pod of a user is not ready', { namespace: 'default', owner: 'ReplicaSet', ready: 'False' }],
])('is when %s', (_, pod) => {
  expect(ready([{}, pod])).toEqual({ done: true, said: '' });
});

it.each<[string, Pod]>([
  ['a static pod was asked and is not well', { ready: 'False' }],
  ['a static pod has ended before', { ready: 'False', started: false, restarts: 1 }],
  ['the container of a static pod does not run', { ready: 'False', started: false, since: '' }],
  ['a static pod is not started', { phase: 'Pending', ready: 'False', started: false }],
  ['another pod was not asked yet', { owner: 'DaemonSet', ready: 'False', started: false }],
])('is not while %s', (_, pod) => {
  const { done, said } = ready([{}, pod]);
  expect(done).toBe(false);
  expect(said).toContain('kube-system/kube-scheduler-a');
});

const WITHOUT =
  'a=False container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady';

it('is where somebody else makes the pod network, though nodes and pods await that', () => {
  const dns = { name: 'coredns-a', phase: 'Pending', ready: '', owner: 'ReplicaSet', node: '' };
  expect(ready([{}, dns], { network: 'none', nodes: [WITHOUT] })).toEqual({ done: true, said: '' });
});

it.each<[string, string, string, Pod]>([
  ['a node lacks the pod network that is ours', 'flannel', WITHOUT, {}],
  ['a node lacks more than that', 'none', 'a=False container runtime is down', {}],
  ['a static pod has ended', 'none', WITHOUT, { ready: 'False', restarts: 1 }],
])('is not while %s', (_, network, node, pod) => {
  expect(ready([pod], { network, nodes: [node] }).done).toBe(false);
});
