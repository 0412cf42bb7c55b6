import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { holdPod } from './held-pod.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** A cluster is upgraded by one minor version while clients read and write. The first upgrade fails and is undone. */
const NAME = 'upgraded';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 30 * 60_000;
const [newer, older = newer] = labReleases;
const [FROM, TO] = [older.kubernetes, newer.kubernetes];
const MASTERS = [0, 1, 2];
const WORKERS = [3, 4];
const ALL = [...MASTERS, ...WORKERS];
/** A patch that works with both versions. A test turns it into one that works with none. */
const [FLAG, WRONG_FLAG] = ['--profiling=false', '--no-such-flag'];
const PATCHED = {
  ...QUICK_KEYS,
  patches: [
    {
      target: 'kube-apiserver' as const,
      json: [{ op: 'add' as const, path: '/spec/containers/0/command/-', value: FLAG }],
    },
  ],
};

let meta: Meta;
let client: Client | undefined;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;
let free: (() => Promise<void>) | undefined;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await client?.close();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);
const kubeletOn = async (index: number) => (await sh(index, 'kubelet --version')).trim();
const kubectl =
  'KUBECACHEDIR=/run/matryoshka/kube kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system';
const kubeadmConfig = `${kubectl} get configmap kubeadm-config -o yaml`;
const addons = `${kubectl} get deployment/coredns daemonset/kube-proxy -o jsonpath="{.items[*].spec.template.spec.containers[0].image}"`;

/** Requests an operation, and returns its duration in seconds. */
async function timed(route: string, body: object): Promise<number> {
  const begun = Date.now();
  expect(await meta.rest.raw('POST', `${PATH}/${route}`, body)).toMatchObject({ status: 200 });
  await untilDone(meta, NAME, OPERATION_MS);
  return Math.round((Date.now() - begun) / 1_000);
}

/** Expects that every host and the cluster have the version, and that nothing drifts. */
async function expectVersion(version: string): Promise<void> {
  expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
  for (const index of ALL) {
    const { name } = host(index);
    expect(await kubeletOn(index), name).toContain(version);
    expect(await sh(index, 'kubeadm version -o short'), name).toContain(version);
    expect(await sh(index, 'matryoshka-watch differences'), name).toBe('');
    // Only the snapshot from before an upgrade stays.
    expect(await sh(index, 'ls /var/lib/matryoshka/upgrade 2> /dev/null | grep -v "db$" || true'), name).toBe(
      '',
    );
  }
  for (const index of MASTERS)
    expect(await sh(index, 'cat /etc/kubernetes/manifests/kube-apiserver.yaml')).toContain(
      `kube-apiserver:${version}`,
    );
  expect(await sh(0, kubeadmConfig)).toContain(`kubernetesVersion: ${version}`);
  expect(await sh(0, addons)).toContain(`kube-proxy:${version}`);
  expect(await sh(0, addons)).toContain(`coredns:${(version === FROM ? older : newer).coredns}`);
}

describe('a cluster of three control planes and two workers', () => {
  it('is created with the older version', async () => {
    const lists = { masterList: entries(...MASTERS), nodeList: entries(...WORKERS) };
    const body = {
      name: NAME,
      kubeVersion: FROM,
      ...lists,
      kubeadm: PATCHED,
      privateSSHKey: meta.privateKey,
    };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('is not rolled back, because no upgrade has begun', async () => {
    const { status, body } = await meta.rest.raw('POST', `${PATH}/rollback`, {});
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('no upgrade has begun since');
  });

  it('goes back from an upgrade that has changed no host', async () => {
    const isSaidToBe = (from: string, to: string) =>
      sh(
        0,
        `${kubeadmConfig} | sed 's/kubernetesVersion: ${from}/kubernetesVersion: ${to}/' | ${kubectl} replace -f -`,
      );
    await isSaidToBe(FROM, 'v1.0.0');
    await expect(timed('update', { kubeVersion: TO })).rejects.toThrow('VersionDiffers: the cluster says');
    await isSaidToBe('v1.0.0', FROM);
    await asPlanned(meta, NAME, async () => {
      await timed('rollback', {});
    });
    await expectVersion(FROM);
  });

  it('goes back by itself on a control plane whose API server does not start', async () => {
    const inPatches = (from: string, to: string) =>
      Promise.all(
        MASTERS.map((index) =>
          sh(index, `sed -i 's/${from}/${to}/' /etc/kubernetes/pki/matryoshka/patches/*`),
        ),
      );
    await inPatches(FLAG, WRONG_FLAG);
    await expect(timed('update', { kubeVersion: TO })).rejects.toThrow(
      new RegExp(
        `kube-apiserver does not become ready with ${TO}, and ${FROM} is back on this host: .*no-such-flag`,
      ),
    );
    await inPatches(WRONG_FLAG, FLAG);
    for (const index of ALL) expect(await kubeletOn(index)).toContain(FROM);
    for (const index of MASTERS)
      expect(await sh(index, 'curl -sk https://127.0.0.1:6443/readyz'), host(index).name).toBe('ok');
  });

  it('stops at a worker with a pod that cannot be evicted', async () => {
    history = await beginHistory(meta, NAME, host(WORKERS[1] ?? 0));
    const [held = ''] = nodes(WORKERS[0] ?? 0);
    if (!client) throw new Error('no client');
    free = await holdPod(client, held);
    await expect(timed('update', { kubeVersion: TO })).rejects.toThrow(
      `default/held on ${held}: Cannot evict pod as it would violate the pod's disruption budget.`,
    );
    for (const index of MASTERS) expect(await kubeletOn(index)).toContain(TO);
    for (const index of WORKERS) expect(await kubeletOn(index)).toContain(FROM);
  });

  it('goes back to the older version', async () => {
    console.log(`rolled back after ${await timed('rollback', {})} s`);
    await expectVersion(FROM);
  });

  it('is upgraded by a retry, and loses no request meanwhile', async () => {
    await expect(timed('update', { kubeVersion: TO })).rejects.toThrow('default/held on');
    await free?.();
    await asPlanned(meta, NAME, async () => {
      console.log(`upgraded ${await timed('update', { retry: true })} s after the retry`);
    });
    await expectVersion(TO);
    await history?.end();
  });

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});
