import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labReleases } from '#lab/artifacts/lab-releases.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import type { Client } from '#runtime/client/client.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { holdPod } from './held-pod.ts';
import { openLane } from './lanes.ts';
import { asPlanned } from './plan-and-result.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

/** A cluster with external etcd and one control plane is upgraded: an attempt that fails, and a retry. */
const NAME = 'upgraded-external-etcd';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 30 * 60_000;
const [newer, older = newer] = labReleases;
const [FROM, TO] = [older.kubernetes, newer.kubernetes];
const MASTER = 0;
const MEMBERS = [1, 2, 3];
const WORKER = 4;
const ALL = [MASTER, ...MEMBERS, WORKER];

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
const etcdImageOn = async (index: number) => (await sh(index, 'cat /etc/matryoshka/installed/etcd')).trim();
/** Returns whether the running member is of the unpacked program, which a replaced one is not. */
const runsUnpacked = (index: number) =>
  sh(index, 'readlink /proc/$(systemctl show -P MainPID matryoshka-etcd)/exe');

describe('a cluster of a control plane, three external etcd members and a worker', () => {
  it('is created with the older version', async () => {
    const lists = { masterList: entries(MASTER), etcdList: entries(...MEMBERS), nodeList: entries(WORKER) };
    const body = {
      name: NAME,
      kubeVersion: FROM,
      ...lists,
      kubeadm: QUICK_KEYS,
      privateSSHKey: meta.privateKey,
    };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    client = await clientOf(await kubeconfigOf(meta, NAME));
  });

  it('stops at a pod that cannot be evicted, and the retry upgrades without a drain', async () => {
    const [worker = ''] = nodes(WORKER);
    if (!client) throw new Error('no client');
    const free = await holdPod(client, worker);
    const container = `ctr -n k8s.io containers ls -q 'labels."io.kubernetes.pod.name"==held'`;
    const before = await sh(WORKER, container);
    const update = async (body: object) => {
      expect(await meta.rest.raw('POST', `${PATH}/update`, body)).toMatchObject({ status: 200 });
      await untilDone(meta, NAME, OPERATION_MS);
    };
    await expect(update({ kubeVersion: TO })).rejects.toThrow(`default/held on ${worker}`);
    await asPlanned(meta, NAME, () => update({ retry: true, upgrade: { drainWorkers: false } }));
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(MASTER, WORKER));
    for (const index of [MASTER, WORKER]) expect(await sh(index, 'kubelet --version')).toContain(TO);
    for (const index of MEMBERS) {
      expect(await etcdImageOn(index), host(index).name).toContain(`etcd:${newer.etcd}`);
      expect(await runsUnpacked(index), host(index).name).toBe('/var/lib/matryoshka/etcd/usr/local/bin/etcd');
    }
    for (const index of ALL)
      expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
    expect(before).not.toBe('');
    expect(await sh(WORKER, container)).toBe(before);
    await free();
  });

  it('is deleted, and leaves nothing', async () => {
    await deleteCluster(meta, NAME);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});
