import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kubeadm } from '#api/kubeadm.ts';
import { readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** Settings of a cluster change while clients read and write. Settings with which a component does not start are undone. */
const NAME = 'reconfigured';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 20 * 60_000;
const MASTERS = [0, 1, 2];
const WORKER = 3;
const ALL = [...MASTERS, WORKER];
const SETTINGS: Kubeadm = {
  ...QUICK_KEYS,
  certSANs: ['api.example.com'],
  kubelet: { maxPods: 77 },
  audit: { policy: { rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }] }] } },
  registryMirrors: [{ registry: 'registry.k8s.io', endpoints: ['https://mirror.example.com'] }],
  patches: [
    {
      target: 'kube-apiserver',
      json: [{ op: 'add', path: '/spec/containers/0/command/-', value: '--profiling=false' }],
    },
  ],
};

let meta: Meta;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);

/** Requests an operation, and prints its duration. */
async function ask(route: string, body: object): Promise<void> {
  const begun = Date.now();
  const answer = await meta.rest.raw('POST', `${PATH}${route}`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  await untilDone(meta, NAME, OPERATION_MS);
  console.log(`${NAME}${route}: ${Math.round((Date.now() - begun) / 1000)} s`);
}

/** Returns what a host has of the settings. */
async function has(index: number) {
  const manifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';
  const isMaster = MASTERS.includes(index);
  return {
    pods: (await sh(index, 'grep -o "maxPods: .*" /var/lib/kubelet/config.yaml || true')).trim(),
    mirror: await sh(
      index,
      'grep -c mirror.example /etc/containerd/certs.d/registry.k8s.io/hosts.toml || true',
    ),
    ...(isMaster
      ? {
          names: await sh(
            index,
            'openssl x509 -noout -ext subjectAltName -in /etc/kubernetes/pki/apiserver.crt',
          ),
          flags: await sh(index, `grep -oE -- "--(profiling|audit-policy-file).*" ${manifest} || true`),
          patches: await sh(index, 'ls /etc/kubernetes/pki/matryoshka/patches 2> /dev/null || true'),
        }
      : {}),
  };
}

async function expectSettings(): Promise<void> {
  for (const index of ALL) {
    const { name } = host(index);
    const found = await has(index);
    expect(found, name).toMatchObject({ pods: 'maxPods: 77', mirror: expect.stringContaining('1') });
    if (MASTERS.includes(index))
      expect(found, name).toMatchObject({
        names: expect.stringContaining('api.example.com'),
        flags: expect.stringMatching(/audit-policy-file[\s\S]*profiling=false/),
      });
    expect(await sh(index, 'matryoshka-watch differences'), name).toBe('');
  }
  expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
}

describe('a cluster of three control planes and a worker', () => {
  it('is created without settings', async () => {
    const lists = { masterList: entries(...MASTERS), nodeList: entries(WORKER) };
    await ask('', { name: NAME, ...lists, kubeadm: QUICK_KEYS, privateSSHKey: meta.privateKey });
  });

  it('gets settings of every kind, and loses no request meanwhile', async () => {
    history = await beginHistory(meta, NAME, host(WORKER));
    await asPlanned(meta, NAME, () => ask('/reconfigure', { kubeadm: SETTINGS }));
    await expectSettings();
    await history.end();
    history = undefined;
  });

  it('refuses settings that no operation changes', async () => {
    const kubeadm = { ...SETTINGS, encryptionAtRest: true };
    const answer = await meta.rest.raw('POST', `${PATH}/reconfigure`, { kubeadm });
    expect(answer).toMatchObject({ status: 422 });
    expect(JSON.stringify(answer.body)).toContain('encryptionAtRest');
  });

  it.each<[string, Kubeadm, RegExp]>([
    [
      'a flag that API servers do not know',
      {
        ...SETTINGS,
        patches: [
          {
            target: 'kube-apiserver',
            json: [{ op: 'add', path: '/spec/containers/0/command/-', value: '--no-such-flag' }],
          },
        ],
      },
      /the former ones are back on this host: kube-apiserver does not become ready: .*no-such-flag/,
    ],
    [
      'a value that kubelets refuse',
      { ...SETTINGS, kubelet: { maxPods: -5 } },
      /the former ones are back on this host: the kubelet does not start: .*maxPods/i,
    ],
  ])('undoes %s on the first host, and changes no other', async (_what, kubeadm, reason) => {
    await expect(ask('/reconfigure', { kubeadm })).rejects.toThrow(reason);
    for (const index of MASTERS)
      expect(await sh(index, 'curl -sk https://127.0.0.1:6443/readyz'), host(index).name).toBe('ok');
    // The kubelet learns that its node counts as away when its watch of the API server is back.
    await expect
      .poll(() => readyNodesOf(meta, NAME), { timeout: 180_000, interval: 1_000 })
      .toEqual(nodes(...ALL));
    expect((await has(1)).pods).toBe('maxPods: 77');
    const stored =
      'kubectl --kubeconfig /etc/kubernetes/admin.conf --cache-dir=/dev/shm/kube -n kube-system get configmap kubelet-config -o yaml';
    expect(await sh(0, stored)).toContain('maxPods: 77');
  });

  it('is as before with the former settings', async () => {
    await ask('/reconfigure', { kubeadm: SETTINGS });
    await expectSettings();
  });

  it('loses the settings again', async () => {
    await ask('/reconfigure', { kubeadm: QUICK_KEYS });
    for (const index of ALL) {
      expect((await has(index)).pods, host(index).name).not.toContain('77');
      expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
    }
    expect(await has(2)).toMatchObject({ flags: '', patches: '' });
    expect((await has(2)).names).not.toContain('api.example.com');
  });

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});
