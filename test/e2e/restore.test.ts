import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import { faults } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { newMachines } from '#lab/meta/new-machines.ts';
import type { Client } from '#runtime/client/client.ts';
import { isNotFound } from '#runtime/wire/api-error.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

/** Snapshots of a cluster are saved and restored: onto hosts as they are, and onto new machines after all were lost. */
const OPERATION_MS = 15 * 60_000;
/** A host that the cluster with stacked etcd does not have at first. */
const SPARE = 4;

let meta: Meta;
let client: Client | undefined;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await client?.close();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);

describe.each([
  { what: 'three control planes and a worker', masters: [0, 1, 2], members: [], worker: 3 },
  {
    what: 'a control plane, three external members of etcd and a worker',
    masters: [0],
    members: [1, 2, 3],
    worker: 4,
  },
])('a cluster of $what', ({ masters, members, worker }) => {
  const NAME = members.length > 0 ? 'restored-external-etcd' : 'restored';
  const PATH = `/region/lab/cluster/${NAME}`;
  const MADE_ANEW = [...masters, ...members];
  const ALL = [...MADE_ANEW, worker];
  let snapshot = '';

  const connect = async () => {
    await client?.close();
    client = await clientOf(await kubeconfigOf(meta, NAME));
    return client;
  };
  const put = async (name: string) =>
    (await connect()).create<ConfigMap>(CONFIG_MAPS, {
      metadata: { namespace: 'default', name },
      data: { name },
    });
  const exists = async (name: string) => {
    try {
      await (await connect()).get<ConfigMap>(CONFIG_MAPS, { namespace: 'default', name });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  };
  const cluster = () =>
    meta.client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace: 'default', name: NAME });
  const ask = async (route: string, body: object) => {
    const begun = Date.now();
    const answer = await meta.rest.raw('POST', `${PATH}${route}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    await untilDone(meta, NAME, OPERATION_MS);
    console.log(`${NAME}${route}: ${Math.round((Date.now() - begun) / 1000)} s`);
  };
  const timeOf = (name: string) =>
    name.replace(/^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)z.*/, '$1-$2-$3T$4:$5:$6Z');
  /** Waits until every node is ready, and returns the seconds since `begun`. */
  async function nodesReady(begun: number, of: readonly number[] = [...masters, worker]): Promise<number> {
    const wanted = nodes(...of);
    while (JSON.stringify(await readyNodesOf(meta, NAME).catch(() => [])) !== JSON.stringify(wanted))
      await sleep(500);
    return Math.round((Date.now() - begun) / 1000);
  }

  async function expectNothingOn(...indices: number[]): Promise<void> {
    // New machines have ids and keys of their own.
    const own = /\/etc\/(machine-id|ssh\/ssh_host)/;
    for (const index of indices)
      expect(
        (await traces(index)).filter((line) => !own.test(line)),
        host(index).name,
      ).toEqual([]);
  }

  it('is created', async () => {
    const etcdList = members.length > 0 ? { etcdList: entries(...members) } : {};
    const lists = { masterList: entries(...masters), ...etcdList, nodeList: entries(worker) };
    await ask('', { name: NAME, ...lists, kubeadm: QUICK_KEYS, privateSSHKey: meta.privateKey });
  });

  it('saves a snapshot, restored as a test and compared with etcd', async () => {
    await put('before');
    await asPlanned(meta, NAME, () => ask('/snapshot', {}));
    const { stored = [] } = (await cluster()).status?.etcdSnapshots ?? {};
    expect(stored).toHaveLength(1);
    snapshot = stored[0]?.name ?? '';
    const log = await meta.rest.raw('GET', `${PATH}/logs`);
    expect(JSON.stringify(log.body)).toContain('restored, and equal to etcd at revision');
    await put('after');
  });

  it('refuses a restore that confirms no loss', async () => {
    const answer = await meta.rest.raw('POST', `${PATH}/restore`, { snapshot });
    expect(answer).toMatchObject({ status: 422 });
    expect(JSON.stringify(answer.body)).toContain(
      `confirm that with ${timeOf(snapshot).replace('Z', '.000Z')}`,
    );
    expect(JSON.stringify(answer.body)).toContain('"field":"confirmDataLossSince"');
  });

  it('restores onto the same hosts', async () => {
    const begun = Date.now();
    await asPlanned(meta, NAME, () => ask('/restore', { snapshot, confirmDataLossSince: timeOf(snapshot) }));
    console.log(`all nodes ready after ${await nodesReady(begun)} s`);
    expect(await exists('before')).toBe(true);
    expect(await exists('after')).toBe(false);
    await put('later');
    for (const index of ALL)
      expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
  });

  it('restores onto new machines after all control planes and members were lost', async () => {
    await newMachines(meta, NAME, MADE_ANEW.map(host));
    const begun = Date.now();
    await ask('/restore', { snapshot, confirmDataLossSince: timeOf(snapshot) });
    console.log(`all nodes ready after ${await nodesReady(begun)} s`);
    expect(await exists('before')).toBe(true);
    expect(await exists('later')).toBe(false);
    await put('last');
  });

  it('saves snapshots of the restored cluster', async () => {
    await ask('/snapshot', {});
    expect((await cluster()).status?.etcdSnapshots?.stored).toHaveLength(2);
  });

  it.skipIf(members.length > 0)(
    'restores onto another host, while one of those that leave is away',
    async () => {
      await faults.powerOff(host(2));
      const to = { masterList: entries(SPARE) };
      const begun = Date.now();
      await ask('/restore', { snapshot, confirmDataLossSince: timeOf(snapshot), ...to });
      console.log(`all nodes ready after ${await nodesReady(begun, [SPARE, worker])} s`);
      expect(await exists('before')).toBe(true);
      expect(await exists('last')).toBe(false);
      await expectNothingOn(0, 1);
      for (const index of [SPARE, worker])
        expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
      // It comes back without belonging to the cluster, and is reset with it.
      await faults.powerOn(host(2));
    },
  );

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    await expectNothingOn(...ALL, SPARE);
  });
});
