import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import { nodeNameOf } from '#api/host.ts';
import { HOSTS, type HostRecord, stateOf } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubectl } from '#lab/kubectl.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { openLane } from '../lanes.ts';

const NAME = 'faulty';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;

let meta: Meta;

const { host, entries } = byNumber(() => meta);
const run = (...args: string[]) => kubectl(meta.kubeconfigPath, args, { timeoutMs: 130_000 });
const body = () => ({
  name: NAME,
  masterList: entries(0),
  nodeList: entries(1, 2),
  privateSSHKey: meta.privateKey,
});

describe('when a cable is pulled', () => {
  beforeAll(async () => {
    meta = await openLane();
  });
  afterAll(() => meta.close());
  it('fails within a minute where a host refuses SSH, names it, and succeeds when asked again', async () => {
    await faults.stopSsh(host(2));
    await meta.rest.raw('POST', PATH, body());
    const failed = await untilCluster(meta, NAME, (one) => one?.status?.phase === 'Failed', 60_000);
    expect(failed?.status).toMatchObject({
      reason: 'HostUnreachable',
      message: expect.stringContaining(host(2).ip),
    });
    await faults.startSsh(host(2));
    expect(await meta.rest.raw('POST', PATH, { ...body(), retry: true })).toMatchObject({ status: 200 });
  });

  it('goes on when the operator is killed in the middle of a creation', async () => {
    await seen('containerd on the new host', () => faults.runs(host(0), 'containerd'));
    expect(await faults.kill(meta.host, 'matryoshka.js controller')).toBe(true);
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(1);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2).map(nodeNameOf).sort());
  });

  it('ends its deletion though a host is away, and says which', async () => {
    await faults.pause(host(2));
    try {
      const key = { namespace: 'default', name: NAME };
      await meta.client.delete(KUBERNETES_CLUSTERS, key, { propagationPolicy: 'Foreground' });
      await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
    } finally {
      await faults.unpause(host(2));
    }
    const { items } = await meta.client.list<HostRecord>(HOSTS, { namespace: 'matryoshka-system' });
    const ours = items.filter(({ spec }) => spec.cluster.endsWith(`/${NAME}`));
    expect(ours.map((record) => [record.spec.ip, stateOf(record)])).toEqual([[host(2).ip, 'Unclean']]);
  });

  it('takes that host for the next cluster, and awaits a step whose pod was killed', async () => {
    await meta.rest.raw('POST', PATH, body());
    await seen('kubeadm init', () => faults.runs(host(0), 'kubeadm init'));
    expect(await faults.kill(meta.host, 'ansibleinit.js', `CLUSTER_NAME=${NAME}`)).toBe(true);
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2).map(nodeNameOf).sort());
  });

  it('says why nothing runs, within 15 seconds, where the runner’s image is not there, and runs once it is', async () => {
    const controller = ['-n', 'matryoshka-system', 'deployment/matryoshka-controller'];
    const listed = await run('set', 'env', ...controller, '--list');
    const image = /^MATRYOSHKA_RUNNER_IMAGE=(.*)$/m.exec(listed)?.[1] ?? '';
    const use = async (name: string) => {
      await run('set', 'env', ...controller, `MATRYOSHKA_RUNNER_IMAGE=${name}`);
      await run('rollout', 'status', ...controller, '--timeout=120s');
    };
    const stalled = (one: KubernetesCluster | undefined) => findCondition(one?.status?.conditions, 'Stalled');
    await use('127.0.0.1:1/matryoshka/none:none');
    try {
      await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 2, 3) });
      const blocked = await untilCluster(meta, NAME, (one) => stalled(one)?.reason === 'RunBlocked', 15_000);
      expect(stalled(blocked)?.message).toMatch(/image/i);
      expect(await run('get', 'ecs', NAME)).toContain('RunBlocked');
    } finally {
      await use(image);
    }
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status?.operation?.attempt).toBe(2);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2, 3).map(nodeNameOf).sort());
  });

  it('goes on when the host of the meta cluster is restarted in the middle of a scale-up', async () => {
    await meta.rest.raw('POST', `${PATH}/scaleup`, { nodeList: entries(1, 2, 3, 4) });
    await seen('containerd on the new host', () => faults.runs(host(4), 'containerd'));
    await faults.restart(meta.host);
    await seen('the API server', () =>
      meta.client.list(KUBERNETES_CLUSTERS).then(
        () => true,
        () => false,
      ),
    );
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1, 2, 3, 4).map(nodeNameOf).sort());
  });

  it('is deleted at last', async () => {
    await meta.rest.raw('DELETE', PATH);
    await untilCluster(meta, NAME, (one) => one === undefined, OPERATION_MS);
  });
});
