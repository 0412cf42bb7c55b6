import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { PODS } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { sleep } from '#base/clock.ts';
import { kubectl } from '#lab/kubectl.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { allowPods, joinMeta } from '#lab/meta/second-node.ts';
import { byNumber } from '../by-number.ts';
import { openLane, secondNode } from '../lanes.ts';

/** The meta cluster has too much to do, loses a server, or has no disk left, while a cluster is made. */
const NAME = 'troubled';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;
/** Longer than a kubelet has patience with a pod of ours that does not answer: 6 probes, 20 s apart, of 15 s each. */
const BUSY_SECONDS = 150;
const OPERATOR = 'matryoshka-system';

let meta: Meta;

const { host } = byNumber(() => meta);
const create = () => {
  const lists = { masterList: [{ ip: host(0).ip }], nodeList: [{ ip: host(1).ip }] };
  return meta.rest.raw('POST', PATH, { name: NAME, ...lists, privateSSHKey: meta.privateKey });
};
const remove = async () => {
  await meta.rest.raw('DELETE', PATH);
  await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
};

interface OperatorPod extends KubeObject {
  spec?: { nodeName?: string };
  status?: { containerStatuses?: { restartCount: number; ready: boolean }[] };
}
const podsOf = async (app: string): Promise<OperatorPod[]> =>
  (
    await meta.client.list<OperatorPod>(PODS, { namespace: OPERATOR, labelSelector: `app=${app}` })
  ).items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
/** Each pod of the operator's, and how often it was restarted. */
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

describe('while a cluster is made, the meta cluster', () => {
  beforeAll(async () => {
    meta = await openLane();
  });
  afterAll(() => meta.close());
  it('may be busy for minutes: no pod of ours is restarted', async () => {
    const before = await restarts();
    await faults.busy(meta.host, BUSY_SECONDS);
    const over = sleep(BUSY_SECONDS * 1_000);
    await create();
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(1);
    await remove();
    await over;
    expect(await restarts()).toEqual(before);
  });

  it('may lose one server, then the node of the other: who follows a log notices neither', async () => {
    const second = secondNode();
    const run = (...args: string[]) => kubectl(meta.kubeconfigPath, args, { timeoutMs: 130_000 });
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
    // The Job shall be on the other one, which is not drained.
    await allowPods(meta.client, second.name, false);

    await create();
    const told: string[] = [];
    const following = meta.rest.follow(
      `${PATH}/logs?follow=true`,
      (line) => told.push(line),
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
    // Its first line is its own, and its last says how it ended.
    expect(told.at(-1)).toBe('create finished');
    const lines = told.slice(1, -1);
    expect(kept).toContain(JSON.stringify(lines.map((line) => `${line}\n`).join('')).slice(1, -1));
    expect(await readyNodesOf(meta, NAME)).toHaveLength(2);
    await remove();
  });

  it('may be short of disk: the Job goes, the operator stays, and the next attempt waits for room', async () => {
    const before = await restarts();
    await create();
    await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
    await faults.shortenDisk(meta.host);
    try {
      const blocked = (one: KubernetesCluster | undefined) =>
        findCondition(one?.status?.conditions, 'Stalled')?.reason === 'RunBlocked';
      const waiting = await untilCluster(meta, NAME, blocked, 120_000);
      expect(findCondition(waiting?.status?.conditions, 'Stalled')?.message).toContain('make room');
      expect(await restarts()).toEqual(before);
    } finally {
      await faults.lengthenDisk(meta.host);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    expect(await readyNodesOf(meta, NAME)).toHaveLength(2);
    await remove();
  });
});
