import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { differences, type HostSnapshot, snapshotHost } from '#lab/host-snapshot.ts';
import { clientOf, kubeconfigOf, readyNodes, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { askService } from '#lab/meta/web.ts';
import type { Client } from '#runtime/client/client.ts';
import { openLane } from './lanes.ts';
import { asPlanned, dryRun } from './plan-and-result.ts';

const NAME = 'life';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;

let meta: Meta;
let made: Client | undefined;
const before = new Map<string, HostSnapshot>();

/** Lists what differs on a host from its state before any cluster, without allowed differences. */
async function traces(name: string): Promise<string[]> {
  const was = before.get(name);
  if (!was) throw new Error(`no snapshot of ${name}`);
  return differences(was, await snapshotHost(name));
}

beforeAll(async () => {
  meta = await openLane();
  for (const { name } of meta.hosts) before.set(name, await snapshotHost(name));
});
afterAll(async () => {
  await made?.close();
  await meta.close();
});

const entries = (first: number, last: number) => meta.hosts.slice(first, last).map(({ ip }) => ({ ip }));
const nodes = (last: number) => entries(0, last).map(nodeNameOf).sort();

describe('a cluster of three control planes through REST alone', () => {
  it('is created, with every node Ready and a Service that answers', async () => {
    const body = {
      name: NAME,
      masterList: entries(0, 3),
      nodeList: entries(3, 4),
      privateSSHKey: meta.privateKey,
    };
    const plan = await dryRun(meta, 'POST', PATH, body);
    const create = async () => {
      const answer = await meta.rest.raw('POST', PATH, body);
      expect(answer).toMatchObject({ status: 200, body: { code: 'OK', message: 'success' } });
      const cluster = await untilDone(meta, NAME, OPERATION_MS);
      expect(cluster.status).toMatchObject({ phase: 'Running', version: labReleases[0].kubernetes });
    };
    await asPlanned(meta, NAME, create, { plan });
    made = await clientOf(await kubeconfigOf(meta, NAME));
    expect(await readyNodes(made)).toEqual(nodes(4));
    expect(await askService(made, meta.hosts[3]?.ip ?? '')).toContain('HTTP 200');
  });

  it('signs a kubeconfig for the caller, who has no rights in the cluster', async () => {
    const { status, body } = await meta.rest.raw('GET', `${PATH}/kubeconfig?expirationSeconds=600`);
    expect([status, typeof body]).toEqual([200, 'string']);
    const client = await clientOf(String(body));
    await expect(readyNodes(client)).rejects.toThrow(
      /User "meta:system:serviceaccount:.*" cannot list resource "nodes"/,
    );
    await client.close();
  });

  it('serves its log without the SSH key', async () => {
    const { body } = await meta.rest.raw('GET', `${PATH}/logs`);
    const log = JSON.stringify(body);
    expect(log).toContain('kubeadm init');
    expect(log).not.toContain(meta.privateKey.split('\n')[1]);
  });

  it('adds a worker, and returns 409 for a second operation meanwhile', async () => {
    const body = { nodeList: entries(3, 5) };
    const plan = await dryRun(meta, 'POST', `${PATH}/scaleup`, body);
    const grow = async () => {
      expect((await meta.rest.raw('POST', `${PATH}/scaleup`, body)).status).toBe(200);
      const second = await meta.rest.raw('POST', `${PATH}/scaledown`, { nodeList: entries(3, 4) });
      expect(second).toMatchObject({ status: 409, body: { code: 'Conflict' } });
      await untilDone(meta, NAME, OPERATION_MS);
    };
    await asPlanned(meta, NAME, grow, { plan });
    expect(made && (await readyNodes(made))).toEqual(nodes(5));
  });

  it('labels a worker, and touches nothing else', async () => {
    const [worker] = entries(3, 4);
    const body = { nodeList: [{ ...worker, labels: { 'example.com/rack': 'r1' } }] };
    const plan = await dryRun(meta, 'POST', `${PATH}/relabel`, body);
    const label = async () => {
      await meta.rest.raw('POST', `${PATH}/relabel`, body);
      await untilDone(meta, NAME, OPERATION_MS);
    };
    await asPlanned(meta, NAME, label, { plan });
  });

  it('removes a worker, and leaves no trace on its host', async () => {
    const body = { nodeList: entries(3, 4) };
    const plan = await dryRun(meta, 'POST', `${PATH}/scaledown`, body);
    const shrink = async () => {
      await meta.rest.raw('POST', `${PATH}/scaledown`, body);
      await untilDone(meta, NAME, OPERATION_MS);
    };
    await asPlanned(meta, NAME, shrink, { plan });
    expect(made && (await readyNodes(made))).toEqual(nodes(4));
    const name = meta.hosts[4]?.name ?? '';
    expect(await traces(name)).toEqual([]);
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    const plan = await dryRun(meta, 'DELETE', PATH);
    const remove = async () => {
      expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
      await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    };
    await asPlanned(meta, NAME, remove, { plan });
    for (const { name } of meta.hosts) {
      expect(await traces(name), name).toEqual([]);
    }
    expect((await meta.rest.raw('GET', PATH)).status).toBe(404);
  });
});
