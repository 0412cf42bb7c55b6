import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { PODS } from '#api/core.ts';
import { HOSTS, type HostRecord, stateOf } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { kubectl } from '#lab/kubectl.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { allowPods, joinMeta } from '#lab/meta/second-node.ts';
import { byNumber } from '../by-number.ts';
import { openLane, secondNode } from '../lanes.ts';
import { QUICK_KEYS } from '../quick-keys.ts';

/** The meta cluster is overloaded, has a full disk, lacks our image, or loses a server, a node or everything at once. */
const NAME = 'troubled';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;
/** Longer than a kubelet tolerates an unresponsive pod of ours: 6 probes, 20 s apart, of 15 s each. */
const BUSY_SECONDS = 150;
const OPERATOR = 'matryoshka-system';

let meta: Meta;

const { host, entries, nodes } = byNumber(() => meta);
const run = (...args: string[]) => kubectl(meta.kubeconfigPath, args, { timeoutMs: 130_000 });
const create = () => {
  const lists = { masterList: entries(0), nodeList: entries(1) };
  return meta.rest.raw('POST', PATH, {
    name: NAME,
    ...lists,
    kubeadm: QUICK_KEYS,
    privateSSHKey: meta.privateKey,
  });
};
const remove = async () => {
  await meta.rest.raw('DELETE', PATH);
  await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
};
const stalled = (one: KubernetesCluster | undefined) => findCondition(one?.status?.conditions, 'Stalled');
const isBlocked = (one: KubernetesCluster | undefined) => stalled(one)?.reason === 'RunBlocked';

interface OperatorPod extends KubeObject {
  spec?: { nodeName?: string };
  status?: { containerStatuses?: { restartCount: number; ready: boolean }[] };
}
const podsOf = async (app: string): Promise<OperatorPod[]> =>
  (
    await meta.client.list<OperatorPod>(PODS, { namespace: OPERATOR, labelSelector: `app=${app}` })
  ).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
/** Returns the restart count of each pod of the operator. */
const restarts = async () => {
  const pods = await Promise.all(
    ['controller', 'server', 'artifacts'].map((app) => podsOf(`matryoshka-${app}`)),
  );
  return pods
    .flat()
    .map(({ metadata, status }) => [metadata.name, status?.containerStatuses?.[0]?.restartCount])
    .sort();
};
const isReady = ({ status }: OperatorPod) => status?.containerStatuses?.every(({ ready }) => ready) ?? false;

describe('the meta cluster, during an operation,', () => {
  beforeAll(async () => {
    meta = await openLane();
  });
  afterAll(() => meta.close());
  it('may be busy for minutes: no operator pod restarts, and a deletion records an absent host', async () => {
    const before = await restarts();
    const over = faults.busy(meta.host, BUSY_SECONDS);
    try {
      await create();
      const cluster = await untilDone(meta, NAME, OPERATION_MS);
      expect(cluster.status?.operation?.attempt).toBe(1);
      await faults.pause(host(1));
      await remove();
    } finally {
      await faults.unpause(host(1)).catch(() => {});
      await over;
    }
    const { items } = await meta.client.list<HostRecord>(HOSTS, { namespace: OPERATOR });
    const ours = items.filter(({ spec }) => spec.cluster.endsWith(`/${NAME}`));
    expect(ours.map((record) => [record.spec.ip, stateOf(record)])).toEqual([[host(1).ip, 'Unclean']]);
    expect(await restarts()).toEqual(before);
  });

  it('may run out of disk: the operator stays, and the next attempt waits for space', async () => {
    const before = await restarts();
    await create();
    await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
    await faults.shortenDisk(meta.host);
    try {
      const waiting = await untilCluster(meta, NAME, isBlocked, 120_000);
      expect(stalled(waiting)?.message).toContain('make room');
      expect(await restarts()).toEqual(before);
    } finally {
      await faults.lengthenDisk(meta.host);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    // The worker was away during the last deletion, and the creation accepts it with its leftovers.
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
    await remove();
  });

  it('may lose one server, then the other node: a followed log misses no line', async () => {
    const second = secondNode();
    const servers = () => podsOf('matryoshka-server');
    const spread = async () => {
      const pods = await servers();
      return (
        pods.length === 2 && pods.every(isReady) && new Set(pods.map(({ spec }) => spec?.nodeName)).size === 2
      );
    };
    await joinMeta(meta, second, () => {});
    await allowPods(meta.client, second.name, true);
    if (!(await spread())) {
      const [one] = await servers();
      await run('-n', OPERATOR, 'delete', 'pod', one?.metadata.name ?? '');
    }
    await seen('a server on each node', spread, { everyMs: 500 });
    // The Job must run on the other node, which is not drained.
    await allowPods(meta.client, second.name, false);

    await create();
    const reported: string[] = [];
    const following = meta.rest.follow(
      `${PATH}/logs?follow=true`,
      (line) => reported.push(line),
      AbortSignal.timeout(OPERATION_MS),
    );
    await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
    expect(await faults.kill(meta.host, 'matryoshka.js server')).toBe(true);
    await seen('both servers', async () => (await servers()).every(isReady), { everyMs: 500 });
    await run('drain', second.name, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=120s');
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(1);
    await following;
    const { body } = await meta.rest.raw('GET', `${PATH}/logs`);
    const kept = JSON.stringify(body);
    // The first line belongs to the stream only, and the last one has the result.
    expect(reported.at(-1)).toBe('create finished');
    const lines = reported.slice(1, -1);
    expect(kept).toContain(JSON.stringify(lines.map((line) => `${line}\n`).join('')).slice(1, -1));
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1));
  });

  it('may lack the image of a run: RunBlocked within 15 seconds, and success once it is there', async () => {
    const controller = ['-n', OPERATOR, 'deployment/matryoshka-controller'];
    const listed = await run('set', 'env', ...controller, '--list');
    const image = /^MATRYOSHKA_RUNNER_IMAGE=(.*)$/m.exec(listed)?.[1] ?? '';
    const use = async (name: string) => {
      await run('set', 'env', ...controller, `MATRYOSHKA_RUNNER_IMAGE=${name}`);
      await run('rollout', 'status', ...controller, '--timeout=120s');
    };
    await use('127.0.0.1:1/matryoshka/none:none');
    try {
      await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 2) });
      const waiting = await untilCluster(meta, NAME, isBlocked, 15_000);
      expect(stalled(waiting)?.message).toMatch(/image/i);
      expect(await run('get', 'ecs', NAME)).toContain('RunBlocked');
    } finally {
      await use(image);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
  });

  it('may restart during a scale-up, which continues', async () => {
    await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 2, 3) });
    await seen('containerd on the new host', () => faults.runs(host(3), 'containerd'));
    await faults.restart(meta.host);
    await seen('the API server', () =>
      meta.client.list(KUBERNETES_CLUSTERS).then(
        () => true,
        () => false,
      ),
    );
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
    await remove();
  });
});
