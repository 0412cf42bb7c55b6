import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeNameOf } from '#api/host.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { LEASES, type Lease } from '#runtime/leader/lease.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';

/** All hosts of a cluster lose power at once. Each rewrites /etc/hosts when it starts, as cloud-init does. */
const NAME = 'dark';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const ALL = [0, 1, 2, 3];
/** A line that a user added, which the rewrite drops. */
const BY_HAND = '192.0.2.1 by-hand';

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(() => meta.close());

const { host, entries, nodes, sh } = byNumber(() => meta);
/** Domain as in names of cloud hosts. */
const DOMAIN = 'eu.example.com';
const named = (...indexes: number[]) =>
  entries(...indexes).map((entry) => ({ ...entry, name: `${nodeNameOf(entry)}.${DOMAIN}` }));
const linesOn = (index: number) => sh(index, 'grep "# matryoshka " /etc/hosts; true');

/** Returns nodes whose kubelet has renewed its lease since then, from the API server in the cluster's kubeconfig. */
async function renewedSince(time: number): Promise<string[]> {
  const client = await clientOf(await kubeconfigOf(meta, NAME));
  try {
    const { items } = await client.list<Lease>(LEASES, { namespace: 'kube-node-lease' });
    return items
      .filter(({ spec }) => Date.parse(spec?.renewTime ?? '') > time)
      .map(({ metadata }) => metadata.name ?? '')
      .sort();
  } finally {
    await client.close();
  }
}

describe('a cluster whose hosts all lose power at once', () => {
  const before = new Map<number, string>();

  it('is created with three control planes and a worker', async () => {
    const lists = { masterList: named(0, 1, 2), nodeList: named(3) };
    const body = { name: NAME, ...lists, kubeadm: QUICK_KEYS, privateSSHKey: meta.privateKey };
    expect(await meta.rest.raw('POST', PATH, body)).toMatchObject({ status: 200 });
    await untilDone(meta, NAME, OPERATION_MS);
    for (const index of ALL) before.set(index, await linesOn(index));
    expect([...before.values()]).not.toContain('');
  });

  it('serves again with every node after the hosts start', async () => {
    for (const index of ALL) await sh(index, `echo '${BY_HAND}' >> /etc/hosts`);
    await Promise.all(ALL.map((index) => faults.powerOff(host(index))));
    const since = Date.now();
    await Promise.all(ALL.map((index) => faults.powerOn(host(index))));
    const all = nodes(...ALL)
      .map((node) => `${node}.${DOMAIN}`)
      .join();
    const isBack = async () => (await renewedSince(since).catch(() => [])).join() === all;
    await seen('every kubelet at work again', isBack, { boundMs: 300_000 });
    await seen('every node Ready', async () => (await readyNodesOf(meta, NAME)).join() === all);
    console.log(`all nodes were back after ${Math.round((Date.now() - since) / 1000)} s`);
  });

  it('has the API server names in /etc/hosts again after that file was rewritten', async () => {
    for (const index of ALL) {
      expect(await sh(index, 'cat /etc/hosts'), host(index).name).not.toContain(BY_HAND);
      expect(await linesOn(index), host(index).name).toBe(before.get(index));
      // The rewritten file does not count as drift.
      expect(await sh(index, 'matryoshka-watch differences'), host(index).name).toBe('');
    }
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await deleteCluster(meta, NAME);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});
