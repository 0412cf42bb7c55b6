import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** Changes that would take the quorum of an etcd that is not whole: refused, and the cluster stays as it was. */
const NAME = 'unwell';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 8 * 60_000;
/** Longer than a kubelet takes to start a member anew that hangs. */
const WHOLE_MS = 4 * 60_000;
const REFUSED =
  /members of etcd that stay do not answer: \S+ \((\S+)\); of (\d) that would be left (\d) are healthy, (\d) are needed/;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { host, entries, nodes, sh } = byNumber(() => meta);
const membersUp = async () => {
  const healthy = await Promise.all(
    [0, 1, 2].map((index) =>
      sh(
        index,
        'd=/etc/kubernetes/pki/etcd; curl -s -m 3 --cacert $d/ca.crt --cert $d/server.crt --key $d/server.key https://127.0.0.1:2379/health || true',
      ),
    ),
  );
  return healthy.every((answer) => answer.includes('"health":"true"'));
};

const hanging = { begin: faults.hangEtcd, end: faults.freeEtcd };
const unscheduled = { begin: faults.stopScheduler, end: faults.startScheduler };
const stopped = { begin: faults.stopEtcd, end: faults.startEtcd };

/** Asks while members hang, or are stopped; answers what the operation failed with. Afterwards all is as it was, the spec as well. */
async function asked(
  { begin, end }: typeof hanging,
  members: readonly number[],
  path: string,
  body: Record<string, unknown>,
): Promise<string> {
  await seen('every member healthy', membersUp, { everyMs: 1_000, boundMs: WHOLE_MS });
  const operationNow = async () => (await untilCluster(meta, NAME, () => true, 10_000))?.status?.operation;
  const before = (await operationNow())?.id;
  for (const index of members) await begin(host(index));
  try {
    const { status, body: said } = await meta.rest.raw('POST', path, body);
    expect(status, JSON.stringify(said)).toBe(200);
    const hasFailed = (one: KubernetesCluster | undefined) =>
      one?.status?.operation?.id !== before && one?.status?.operation?.result === 'failed';
    const failed = await untilCluster(meta, NAME, hasFailed, OPERATION_MS);
    return failed?.status?.message ?? '';
  } finally {
    for (const index of members) await end(host(index));
    await seen('every member healthy again', membersUp, { everyMs: 1_000, boundMs: WHOLE_MS });
    const all = nodes(0, 1, 2).join();
    // Without a quorum for long enough a kubelet starts its API server anew.
    const ready = () => readyNodesOf(meta, NAME).catch((): string[] => []);
    await seen('every node Ready', async () => (await ready()).join() === all);
    const cluster = { masterList: entries(0, 1, 2), etcdList: null };
    await meta.client.patch(
      KUBERNETES_CLUSTERS,
      { namespace: 'default', name: NAME },
      { spec: { cluster } },
      { type: 'merge' },
    );
  }
}

describe('a cluster whose etcd is not whole', () => {
  it('is made', async () => {
    const body = { name: NAME, masterList: entries(0, 1, 2) };
    expect(await meta.rest.raw('POST', PATH, { ...body, privateSSHKey: meta.privateKey })).toMatchObject({
      status: 200,
    });
    await untilDone(meta, NAME, OPERATION_MS);
    history = await beginHistory(meta, NAME, host(0));
  });

  it('takes no control planes in while a member does not answer', async () => {
    // A kubelet starts one anew that hangs, before new hosts are prepared.
    const says = await asked(stopped, [2], `${PATH}/scaleup`, { masterList: entries(0, 1, 2, 3, 4) });
    expect(REFUSED.exec(says)?.slice(1), says).toEqual([host(2).ip, '3', '2', '2']);
    for (const index of [3, 4])
      expect(await sh(index, 'ls /etc/kubernetes/manifests 2>/dev/null || true')).toBe('');
  });

  it('loses no control plane while a member that would stay does not answer', async () => {
    const says = await asked(hanging, [2], `${PATH}/scaledown`, { masterList: entries(2) });
    expect(REFUSED.exec(says)?.slice(1), says).toEqual([host(2).ip, '1', '0', '1']);
  });

  it('loses no control plane while the scheduler of one that would stay does not run', async () => {
    const says = await asked(unscheduled, [1], `${PATH}/scaledown`, { masterList: entries(1) });
    expect(says).toContain(`not ready: kube-scheduler-${nodes(1)[0]}: put them right first`);
  });

  it('keeps its etcd where it is while a member does not answer', async () => {
    const says = await asked(hanging, [1], `${PATH}/etcd/move`, { etcdList: entries(3) });
    expect(REFUSED.exec(says)?.slice(1), says).toEqual([host(1).ip, '3', '2', '2']);
    expect((await sh(1, 'ls /etc/kubernetes/manifests')).split('\n')).toContain('etcd.yaml');
  });

  it('has nothing replaced while two members of three do not answer', async () => {
    const body = { from: host(1).ip, to: entries(3)[0] };
    const says = await asked(stopped, [1, 2], `${PATH}/replace`, body);
    expect(says).toMatch(/etcd.*nothing was changed/s);
  });

  it('has one order of what was written and read, though at times nobody could', async () => {
    await history?.end({ failing: true });
  });

  it('goes', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, 3, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
