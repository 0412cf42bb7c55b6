import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { type HistoryReport, startHistory } from '#lab/history/run.ts';
import { kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { type Meta, metaUp } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';

const NAME = 'written';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const [WORKER, ETCD] = [3, 4];

let meta: Meta;
let end: (() => Promise<HistoryReport>) | undefined;

beforeAll(async () => {
  meta = await metaUp(inject('labHosts'), () => {});
});
afterAll(async () => {
  await end?.();
  await meta.close();
});

const { entries } = byNumber(() => meta);

async function done(path: string, body: Record<string, unknown>): Promise<void> {
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 });
  const cluster = await untilDone(meta, NAME, OPERATION_MS);
  expect(cluster.status).toMatchObject({ phase: 'Running' });
}

describe('a cluster that is written to and read from, by its worker', () => {
  it('is made', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(WORKER) };
    await done(PATH, { ...body, privateSSHKey: meta.privateKey });
    end = await startHistory(meta.hosts[WORKER]?.name ?? '', await kubeconfigOf(meta, NAME), () => {});
  });

  it('gets three control planes', () => done(`${PATH}/scaleup`, { masterList: entries(0, 1, 2) }));

  it('has its etcd moved to a host of its own', () => done(`${PATH}/etcd/move`, { etcdList: entries(ETCD) }));

  it('has it moved back', () => done(`${PATH}/etcd/move`, { etcdList: [] }));

  it('loses its first control plane', () => done(`${PATH}/scaledown`, { masterList: entries(2) }));

  it('has answered every request meanwhile, in one order', async () => {
    const report = await end?.();
    end = undefined;
    console.log(JSON.stringify(report));
    expect(report).toMatchObject({ failed: null, linearizable: 'Ok' });
    expect(report?.operations).toBeGreaterThan(500);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(2, WORKER).map(nodeNameOf).sort());
  });

  it('goes', async () => {
    expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
  });
});
