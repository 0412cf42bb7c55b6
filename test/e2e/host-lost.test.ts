import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/**
 * Hosts that are lost in the middle of a step, for a while or for good, while clients write to the cluster and read from it.
 */
const NAME = 'bereft';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** Shorter than the timeout of Ansible's connections. */
const FROZEN_MS = 20_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes } = byNumber(() => meta);
const ask = async (path: string, body: Record<string, unknown>) =>
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 });
const done = async (path: string, body: Record<string, unknown>) => {
  await ask(path, body);
  return untilDone(meta, NAME, OPERATION_MS);
};
const failed = async () => {
  // The operation annotation changes after the object's status.
  const hasFailed = (one: KubernetesCluster | undefined) =>
    one?.metadata.annotations?.[annotations.operation]?.endsWith('-failed') === true;
  const cluster = await untilCluster(meta, NAME, hasFailed, OPERATION_MS);
  console.log(cluster?.status?.message);
  return cluster?.status?.message;
};
const stateOf = async (index: number) =>
  (await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' })).items.find(
    ({ spec }) => spec.ip === host(index).ip,
  )?.status?.state;
const prepared = (index: number) =>
  seen('containerd on the new host', () => faults.runs(host(index), 'containerd'));

describe('a cluster that loses hosts during a step', () => {
  it('is created', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(1), kubeadm: QUICK_KEYS };
    await done(PATH, { ...body, privateSSHKey: meta.privateKey });
    history = await beginHistory(meta, NAME, host(1));
  });

  it('adds a host that was frozen for a while, in the same attempt', async () => {
    await ask(`${PATH}/scaleup`, { nodeList: entries(1, 2) });
    await prepared(2);
    await faults.pause(host(2));
    // The host is frozen for exactly this time.
    await sleep(FROZEN_MS);
    await faults.unpause(host(2));
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status).toMatchObject({ phase: 'Running', operation: { attempt: 1 } });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
  });

  it('names a host without power, continues without it, and records it as Unclean', async () => {
    await ask(`${PATH}/scaleup`, { nodeList: entries(1, 2, 3) });
    await prepared(3);
    await faults.powerOff(host(3));
    expect(await failed()).toContain(host(3).ip);
    await done(`${PATH}/scaledown`, { nodeList: entries(1, 2) });
    expect(await stateOf(3)).toBe('Unclean');
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
  });

  it('adds the host again once it has power', async () => {
    await faults.powerOn(host(3));
    await done(`${PATH}/scaleup`, { nodeList: entries(1, 2, 3) });
    expect(await stateOf(3)).toBe('Joined');
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
  });

  it('replaces a dead worker, and records it as Unclean', async () => {
    await faults.powerOff(host(2));
    await done(`${PATH}/replace`, { from: host(2).ip, to: entries(4)[0] });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 3, 4));
    expect(await stateOf(2)).toBe('Unclean');
    await faults.powerOn(host(2));
  });

  it('completes an operation whose Secret is deleted, and names the Secret at the next request', async () => {
    const key = { namespace: 'default', name: `${NAME}-ssh` };
    const secret = await meta.client.get(SECRETS, key);
    await ask(`${PATH}/scaledown`, { nodeList: entries(1, 4) });
    const isUnderWay = (one: KubernetesCluster | undefined) =>
      one?.status?.operation?.name === 'scale-down' && one.status.operation.step !== undefined;
    await untilCluster(meta, NAME, isUnderWay, OPERATION_MS);
    await meta.client.delete(SECRETS, key);
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await traces(3)).toEqual([]);
    const refused = await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 3, 4) });
    console.log(JSON.stringify(refused.body));
    expect(JSON.stringify(refused.body)).toContain(key.name);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(refused.status).toBeLessThan(500);
    const { resourceVersion: _, uid: __, ...metadata } = secret.metadata;
    await meta.client.create(SECRETS, { ...secret, metadata });
  });

  it('has a linearizable history without a failed request', async () => {
    expect(history).toBeDefined();
    await history?.end();
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    // The host joins once more, so that its removal resets it.
    await done(`${PATH}/scaleup`, { nodeList: entries(1, 2, 4) });
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
