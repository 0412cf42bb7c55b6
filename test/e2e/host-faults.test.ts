import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { holdPod } from './held-pod.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

const NAME = 'struck';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { host, entries, nodes, sh } = byNumber(() => meta);
const ask = async (path: string, body: Record<string, unknown>) =>
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 });

/** Expects that the running operation fails within `withinMs`, and that the object's message matches. */
async function untilFailed(says: RegExp, withinMs: number) {
  const failed = await untilCluster(meta, NAME, (one) => one?.status?.phase === 'Failed', withinMs);
  console.log(failed?.status?.message);
  expect(failed?.status?.message).toMatch(says);
  return failed;
}
const retried = async (path: string, body: Record<string, unknown>) => {
  await ask(path, { ...body, retry: true });
  await untilDone(meta, NAME, OPERATION_MS);
};

describe('a host with a fault', () => {
  it('refuses SSH: it is named within a minute, and a retry succeeds', async () => {
    const body = {
      name: NAME,
      masterList: entries(0),
      nodeList: entries(1),
      kubeadm: QUICK_KEYS,
      privateSSHKey: meta.privateKey,
    };
    await faults.stopSsh(host(1));
    try {
      await ask(PATH, body);
      const failed = await untilFailed(new RegExp(host(1).ip), 60_000);
      expect(failed?.status).toMatchObject({ reason: 'HostUnreachable' });
    } finally {
      await faults.startSsh(host(1));
    }
    await retried(PATH, body);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
  });

  it('accepts connections and never answers: it is named within a minute, and a retry succeeds', async () => {
    const body = { nodeList: entries(1, 2) };
    await faults.hangSsh(host(2));
    try {
      await ask(`${PATH}/scaleup`, body);
      await untilFailed(new RegExp(host(2).ip), 60_000);
    } finally {
      await faults.freeSsh(host(2));
    }
    await retried(`${PATH}/scaleup`, body);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
  });

  it('restarts while it is prepared: it is named, and a retry succeeds', async () => {
    const body = { nodeList: entries(1, 2, 3) };
    await ask(`${PATH}/scaleup`, body);
    await seen('containerd on the new host', () => faults.runs(host(3), 'containerd'));
    await faults.restart(host(3));
    await untilFailed(new RegExp(host(3).ip), OPERATION_MS);
    await retried(`${PATH}/scaleup`, body);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
  });

  it('has no space for images: the precheck names the folder, a later step the host', async () => {
    const body = { nodeList: entries(1, 2, 3, 4) };
    await faults.shrinkImages(host(4), 40);
    try {
      await ask(`${PATH}/scaleup`, body);
      await untilFailed(new RegExp(`${host(4).ip}: /var/lib/containerd is .* 0 GiB free`), OPERATION_MS);
    } finally {
      await faults.growImages(host(4));
    }
    await ask(`${PATH}/scaleup`, { ...body, retry: true });
    try {
      await seen('the fence', () => faults.isTaken(host(4)), { everyMs: 100 });
      await faults.shrinkImages(host(4), 40);
      await untilFailed(new RegExp(`${host(4).ip}.*no space left`, 'is'), OPERATION_MS);
    } finally {
      await faults.growImages(host(4));
    }
    await retried(`${PATH}/scaleup`, body);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3, 4));
  });

  it('has a pod that a budget protects: the pod is named, and a retry succeeds', async () => {
    const made = await clientOf(await kubeconfigOf(meta, NAME));
    const release = await holdPod(made, nodes(4)[0] ?? '');
    const body = { nodeList: entries(1, 2) };
    try {
      await ask(`${PATH}/scaledown`, body);
      await untilFailed(/default\/held on .*held by disruption budget held/, OPERATION_MS);
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3, 4));
    } finally {
      await release();
      await made.close();
    }
    await retried(`${PATH}/scaledown`, body);
    // The directory existed before, and the reset leaves it empty.
    await sh(4, 'rmdir /var/lib/containerd');
    for (const index of [3, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });

  it('cannot reach etcd while it joins: it is named, and a retry succeeds', async () => {
    const body = { masterList: entries(0, 3, 4) };
    await ask(`${PATH}/scaleup`, body);
    // The port is blocked only after the precheck, which would report it.
    await seen('the fence', () => faults.isTaken(host(3)), { everyMs: 100 });
    await faults.cutFrom(host(3), host(0).ip, 2379, 2380);
    try {
      await untilFailed(new RegExp(host(3).ip), OPERATION_MS);
      expect(await readyNodesOf(meta, NAME)).toEqual(expect.arrayContaining(nodes(0, 1, 2)));
    } finally {
      await faults.mend(host(3));
    }
    await retried(`${PATH}/scaleup`, body);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3, 4));
  });

  it('has no trace after the cluster is deleted', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
