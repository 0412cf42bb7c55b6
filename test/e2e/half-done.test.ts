import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { clientOf, kubeconfigOf, readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { deleteCluster } from './deletion.ts';
import { membersOn } from './etcd-members.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

/** Operations that end halfway, followed by another one: etcd never loses a vote, nor a write. */
const NAME = 'half';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const [ETCD, SPARE] = [3, 4];

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
const members = (index: number) => membersOn(host(index));
const post = async (path: string, body: Record<string, unknown>, status = 200) => {
  const answer = await meta.rest.raw('POST', path, body);
  expect(answer).toMatchObject({ status });
  return JSON.stringify(answer.body);
};
async function done(path: string, body: Record<string, unknown>): Promise<void> {
  await post(path, body);
  expect((await untilDone(meta, NAME, OPERATION_MS)).status).toMatchObject({ phase: 'Running' });
}
const failed = (reason: RegExp) =>
  untilCluster(
    meta,
    NAME,
    (one) => one?.status?.phase === 'Failed' && reason.test(`${one.status.reason}: ${one.status.message}`),
    OPERATION_MS,
  );
let written = 0;
/** One object more, after all that were written before are seen to be there. */
async function writes(): Promise<void> {
  const client = await clientOf(await kubeconfigOf(meta, NAME));
  const labels = { 'example.com/kept': 'yes' };
  try {
    const query = { namespace: 'default', labelSelector: 'example.com/kept=yes' };
    expect((await client.list<ConfigMap>(CONFIG_MAPS, query)).items.length).toBe(written);
    written += 1;
    await client.create<ConfigMap>(CONFIG_MAPS, {
      metadata: { namespace: 'default', name: `kept-${written}`, labels },
    });
  } finally {
    await client.close();
  }
}
async function cancelledAt(step: string): Promise<void> {
  await untilCluster(meta, NAME, (one) => one?.status?.operation?.step === step, OPERATION_MS);
  await post(`${PATH}/cancel`, {}, 202);
  await failed(/^Cancelled/);
}
const serversOf = (index: number) =>
  sh(index, "sed -n 's/^ *- --etcd-servers=//p' /etc/kubernetes/manifests/kube-apiserver.yaml");

describe('a cluster whose operations end halfway', () => {
  it('is made', async () => {
    await done(PATH, { name: NAME, masterList: entries(0), privateSSHKey: meta.privateKey });
    await writes();
  });

  it('takes a control plane in whose join was killed when it had a vote already', async () => {
    await post(`${PATH}/scaleup`, { masterList: entries(0, 1, 2) });
    let voting: string[] = [];
    await seen('a second member that votes', async () => {
      voting = await members(0).catch(() => []);
      return voting.length > 1 && !voting.some((name) => name.endsWith('learner'));
    });
    const half = voting.includes(nodes(1)[0] ?? '') ? 1 : 2;
    expect(await faults.kill(host(half), 'kubeadm join')).toBe(true);
    await failed(/OperationFailed/);
    expect(await members(0)).toEqual(expect.arrayContaining(nodes(0, half)));
    await writes();
    await done(`${PATH}/scaleup`, { masterList: entries(0, 1, 2), retry: true });
    expect(await members(0)).toEqual(nodes(0, 1, 2));
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2));
    await writes();
    history = await beginHistory(meta, NAME, host(0));
  });

  it('has a move of etcd taken back that was cancelled when API servers were led', async () => {
    await post(`${PATH}/etcd/move`, { etcdList: entries(ETCD) });
    await cancelledAt('Lead API servers to etcd');
    // The word of its end follows the object's status.
    const body = { masterList: entries(0), etcdList: [] };
    const refusal = async () => {
      const { status, body: why } = await meta.rest.raw('POST', `${PATH}/scaledown`, body);
      return `${status} ${JSON.stringify(why)}`;
    };
    await expect.poll(refusal, { timeout: 30_000 }).toMatch(/^422 .*etcd/);
    await done(`${PATH}/etcd/move`, { etcdList: [] });
    expect(await members(0)).toEqual(nodes(0, 1, 2));
    await writes();
    for (const index of [0, 1, 2]) expect(await serversOf(index)).toBe('https://127.0.0.1:2379');
    expect(await traces(ETCD)).toEqual([]);
  });

  it('has a control plane replaced while etcd has a host of its own, and repaired', async () => {
    await done(`${PATH}/etcd/move`, { etcdList: entries(ETCD) });
    await done(`${PATH}/replace`, { from: entries(2)[0]?.ip, to: entries(SPARE)[0] });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, SPARE));
    expect(await serversOf(SPARE)).toContain(`${host(ETCD).ip}:2379`);
    expect(await traces(2)).toEqual([]);
    await writes();
    await sh(
      1,
      "sed -i 's/--secure-port=6443/--secure-port=6443 /' /etc/kubernetes/manifests/kube-apiserver.yaml",
    );
    await done(`${PATH}/repair`, {});
    expect(await serversOf(1)).toContain(`${host(ETCD).ip}:2379`);
  });

  it('has a move of etcd finished, though the host that etcd leaves died when it was cancelled', async () => {
    await post(`${PATH}/etcd/move`, { etcdList: [] });
    await cancelledAt('Lead API servers to etcd');
    await faults.pause(host(ETCD));
    try {
      const again = async () =>
        (await meta.rest.raw('POST', `${PATH}/etcd/move`, { etcdList: [], retry: true })).status;
      await expect.poll(again, { timeout: 30_000 }).toBe(200);
      await untilDone(meta, NAME, OPERATION_MS);
      expect(await members(0)).toEqual(nodes(0, 1, SPARE));
      await writes();
    } finally {
      await faults.unpause(host(ETCD));
    }
  });

  it('has one order of what was written and read meanwhile', async () => {
    // Host 0 asks its own API server first, which is started anew where etcd moves.
    await history?.end({ failing: true });
  });

  it('goes, and leaves every host as it was', async () => {
    await deleteCluster(meta, NAME);
    for (const index of [0, 1, 2, ETCD, SPARE]) expect(await traces(index), host(index).name).toEqual([]);
  });
});
