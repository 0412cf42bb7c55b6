import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCondition } from '#api/conditions.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { KINDS } from '#lab/drift-kinds.ts';
import { untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

/** Hosts are changed by hand in many ways, a few at a time. Each change is reported in time, and nothing else is. */
const NAME = 'drift';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
/** A minute, and half a minute more because all hosts share two processors. */
const REPORT_MS = 90_000;
/** Time for several checks of each host; `make bench-operations` takes an hour. */
const LOOKED_MS = 60_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { host, entries, sh } = byNumber(() => meta);

const asMade = (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'HostsAsMade');
const untilAsMade = (timeoutMs: number) =>
  untilCluster(meta, NAME, (cluster) => asMade(cluster)?.status === 'True', timeoutMs);

/** Changes at once, as many as a condition names for one host. Kinds that change the same thing are in different waves. */
const COUNT = 7;
const WAVES = Array.from({ length: COUNT }, (_, wave) => KINDS.filter((_kind, at) => at % COUNT === wave));

describe('hosts that a user changes by hand', () => {
  it('match the baseline at first', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(1), kubeadm: QUICK_KEYS };
    expect(await meta.rest.raw('POST', PATH, { ...body, privateSSHKey: meta.privateKey })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    await untilAsMade(2 * REPORT_MS);
  });

  it.each(WAVES)('are reported as drifted, then as matching the baseline: wave %#', async (...wave) => {
    const began = Date.now();
    try {
      for (const [index, [change]] of wave) await sh(index, change);
      const reports = (cluster: KubernetesCluster | undefined) => {
        const message = asMade(cluster)?.message ?? '';
        return wave.every(
          ([index, , says]) => message.includes(says) && message.includes(`(${meta.hosts[index]?.ip}): `),
        );
      };
      const cluster = await untilCluster(meta, NAME, reports, REPORT_MS);
      expect(asMade(cluster)?.status).toBe('False');
      console.log(
        `${wave.map(([, , says]) => says).join(', ')}: told after ${(Date.now() - began) / 1000} s`,
      );
    } finally {
      for (const [index, [, back]] of wave) await sh(index, back);
    }
    await untilAsMade(REPORT_MS);
  });

  it('do not drift by an operation, nor by themselves', async () => {
    const node = { ...entries(1)[0], labels: { 'example.com/rack': 'r1' } };
    expect(await meta.rest.raw('POST', `${PATH}/relabel`, { nodeList: [node] })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    const reported: string[] = [];
    await untilCluster(
      meta,
      NAME,
      (cluster) => {
        reported.push(asMade(cluster)?.status ?? 'absent');
        return false;
      },
      LOOKED_MS,
    ).catch(() => undefined);
    expect([...new Set(reported)]).toEqual(['True']);
  });

  it('have no trace after the cluster is deleted', async () => {
    await deleteCluster(meta, NAME);
    // These files come from this test.
    for (const index of [0, 1]) await sh(index, 'rm -f /root/kept /root/away');
    for (const index of [0, 1]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
