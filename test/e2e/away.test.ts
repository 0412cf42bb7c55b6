import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Resource } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { holdPod } from './held-pod.ts';
import { openLane } from './lanes.ts';
import { answersAt, talkingPod } from './pods-that-talk.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

/** Nodes that are away, and hosts that only seem to be: without SSH, or with a Node that a user has deleted. */
const NAME = 'absent';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const NODES: Resource = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
const WORKER = 3;
const SPARE = 4;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let client: Client | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await client?.close();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);
const ask = async (path: string, body: Record<string, unknown>) =>
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 });
const done = async (path: string, body: Record<string, unknown>) => {
  await ask(path, body);
  return untilDone(meta, NAME, OPERATION_MS);
};
const failed = async () => {
  const hasFailed = (one: KubernetesCluster | undefined) =>
    one?.metadata.annotations?.[annotations.operation]?.endsWith('-failed') === true;
  return (await untilCluster(meta, NAME, hasFailed, OPERATION_MS))?.status?.message;
};
const recordOf = async (index: number) =>
  (await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' })).items.find(
    ({ spec }) => spec.ip === host(index).ip,
  )?.status;

function podOn(name: string, index: number) {
  if (!client) throw new Error('there is no client');
  const at = { host: host(index), nodeName: nodes(index)[0] ?? '' };
  return talkingPod(client, { namespace: `of-${name}`, name, labels: { app: name } }, at);
}

describe('a cluster with absent hosts', () => {
  it('is created with three control planes and a worker', async () => {
    const lists = { masterList: entries(0, 1, 2), nodeList: entries(WORKER) };
    await done(PATH, { name: NAME, ...lists, kubeadm: QUICK_KEYS, privateSSHKey: meta.privateKey });
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('drains a node whose host SSH does not reach', async () => {
    if (!client) throw new Error('there is no client');
    const release = await holdPod(client, nodes(WORKER)[0] ?? '');
    const body = { nodeList: [], allowEmpty: true };
    await faults.stopSsh(host(WORKER));
    try {
      await ask(`${PATH}/scaledown`, body);
      expect(await failed()).toMatch(/default\/held on .*held by disruption budget held/);
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, WORKER));
      await release();
      await done(`${PATH}/scaledown`, { ...body, retry: true });
      expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
      expect(await recordOf(WORKER)).toMatchObject({ state: 'Unclean' });
    } finally {
      await faults.startSsh(host(WORKER));
    }
    await done(`${PATH}/scaleup`, { nodeList: entries(WORKER) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, WORKER));
  });

  it('adds a node again that a user deleted', async () => {
    const name = nodes(WORKER)[0] ?? '';
    await client?.delete(NODES, { namespace: '', name });
    await done(`${PATH}/repair`, {});
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, WORKER));
    // The repaired node has a new pod CIDR, and its pods get addresses of it.
    const [near, far] = await Promise.all([podOn('near', WORKER), podOn('far', 0)]);
    await seen(
      'pods that answer each other',
      async () => (await answersAt(near, far.ip)) && answersAt(far, near.ip),
    );
    for (const { namespace } of [near, far])
      await client?.delete(NAMESPACES, { namespace: '', name: namespace });
  });

  it('replaces a dead control plane while a worker is dead, which gets the endpoints later', async () => {
    await Promise.all([2, WORKER].map((index) => faults.powerOff(host(index))));
    await done(`${PATH}/replace`, { from: host(2).ip, to: entries(SPARE)[0] });
    expect(await recordOf(WORKER)).toMatchObject({ state: 'Joined', lastRun: { ok: false } });
    await Promise.all([2, WORKER].map((index) => faults.powerOn(host(index))));
    const all = nodes(0, 1, WORKER, SPARE);
    await seen('the worker Ready again', async () => (await readyNodesOf(meta, NAME)).join() === all.join());
    // The endpoints come with an operation that connects to the worker, which a relabel does not.
    await done(`${PATH}/relabel`, {
      nodeList: [{ ...entries(WORKER)[0], labels: { 'example.com/a': 'b' } }],
    });
    expect(await recordOf(WORKER)).toMatchObject({ lastRun: { ok: false } });
    await done(`${PATH}/repair`, {});
    expect(await sh(WORKER, 'cat /etc/matryoshka/balancer/haproxy.cfg')).toContain(host(SPARE).ip);
    expect(await recordOf(WORKER)).toMatchObject({ lastRun: { ok: true } });
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, WORKER, SPARE]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
