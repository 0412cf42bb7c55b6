import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { nodeNameOf } from '#api/host.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

const NAME = 'halted';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/**
 * docs/tasks/cancel-and-pause.md: a cancel stops an unprotected step within 10 s. The limit is longer because this machine
 * is shared.
 */
const HALTED_MS = 20_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { entries } = byNumber(() => meta);
const post = async (path: string, body: Record<string, unknown>, status = 200) =>
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status });

/** Cancels the running operation when it reaches the step, and returns the object after that. */
async function cancelledAt(step: string) {
  await untilCluster(meta, NAME, (cluster) => cluster?.status?.operation?.step === step, OPERATION_MS);
  const begun = performance.now();
  await post(`${PATH}/cancel`, {}, 202);
  const cluster = await untilCluster(
    meta,
    NAME,
    (one) => one?.status?.operation?.result !== undefined,
    OPERATION_MS,
  );
  const ms = performance.now() - begun;
  console.log(`cancelled at "${step}" after ${(ms / 1000).toFixed(1)} s`);
  expect(cluster?.status).toMatchObject({
    phase: 'Failed',
    reason: 'Cancelled',
    operation: { result: 'cancelled' },
  });
  return { ms, cluster };
}

describe('a cancelled operation', () => {
  it('stops while hosts of a new cluster are prepared, and a retry succeeds', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(1), kubeadm: QUICK_KEYS };
    await post(PATH, { ...body, privateSSHKey: meta.privateKey });
    const { ms } = await cancelledAt('Prepare hosts, start the control plane');
    expect(ms).toBeLessThan(6 * HALTED_MS);
    await post(PATH, { ...body, retry: true });
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1).map(nodeNameOf).sort());
  });

  it('stops at once outside of protected steps, and reports its host', async () => {
    await post(`${PATH}/scaleup`, { nodeList: entries(1, 2) });
    const { ms, cluster } = await cancelledAt('Prepare hosts');
    expect(ms).toBeLessThan(HALTED_MS);
    expect(cluster?.status?.message).toContain(meta.hosts[2]?.ip);
    expect(await readyNodesOf(meta, NAME)).toEqual(entries(0, 1).map(nodeNameOf).sort());
    const { id, name } = cluster?.status?.operation ?? { id: '', name: '' };
    const key = { namespace: 'default', name: `kube-${name}-${id}` };
    // The difference is written into the record after the result.
    const difference = async () =>
      (await meta.client.get<ConfigMap>(CONFIG_MAPS, key)).data?.['difference'] ?? '';
    await expect.poll(difference, { timeout: 30_000 }).toContain(meta.hosts[2]?.ip);
  });

  it('leaves a touched host to the next operation, which frees it', async () => {
    await post(`${PATH}/scaledown`, { nodeList: entries(1) });
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await traces(2)).toEqual([]);
  });

  it('is followed by a deletion, which cannot be cancelled', async () => {
    expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
    expect((await meta.rest.raw('POST', `${PATH}/cancel`, {})).status).toBe(409);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
  });
});
