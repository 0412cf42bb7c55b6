import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PODS } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { DEPLOYMENTS } from '#bootstrap/rollout.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { LEASES, type Lease } from '#runtime/leader/lease.ts';
import { byNumber } from '../by-number.ts';
import { membersOn } from '../etcd-members.ts';
import { openLane } from '../lanes.ts';
import { asPlanned } from '../plan-and-result.ts';
import { QUICK_KEYS } from '../quick-keys.ts';
import { tracesOn } from '../traces.ts';
import { beginHistory } from '../with-history.ts';

/** An operator that is killed at each step that it reports, while clients write to the cluster and read from it. */
const NAME = 'orphan';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const CONFIG = '/etc/containerd/config.toml';

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  meta = await openLane();
  traces = await tracesOn(meta);
  // These are the leader, a standby, and a third that replaces the last killed one.
  await operators(3);
});
afterAll(async () => {
  await history?.drop();
  await operators(1);
  await meta.close();
});

const { entries, host, nodes, sh } = byNumber(() => meta);

const OPERATOR = { namespace: 'matryoshka-system', name: 'matryoshka-controller' };
const holder = async () => (await meta.client.get<Lease>(LEASES, OPERATOR)).spec?.holderIdentity ?? '';
const operators = (replicas: number) =>
  meta.client.patch(DEPLOYMENTS, OPERATOR, { spec: { replicas } }, { type: 'merge' });
/** Makes the lease expire at once. The tests of leader election show that no other process takes it earlier. */
const RUN_OUT = { spec: { holderIdentity: '' } };

/** Kills the operator as a node failure does, without a handover. The run is held until the other operator leads. */
async function killOperator(): Promise<void> {
  const ofRun = `CLUSTER_NAME=${NAME}`;
  await faults.freeze(meta.host, 'ansible-playbook', ofRun);
  try {
    const [pod = ''] = (await holder()).split('_');
    expect(await faults.kill(meta.host, 'matryoshka.js controller', `HOSTNAME=${pod}`)).toBe(true);
    // Otherwise the kubelet would restart it repeatedly, with a doubled delay each time.
    await meta.client.delete(PODS, { ...OPERATOR, name: pod }, { gracePeriodSeconds: 0 });
    await meta.client.patch(LEASES, OPERATOR, RUN_OUT, { type: 'merge' });
    // The kubelet may have restarted its container once more before its pod was gone.
    const isOther = (now: string) => now !== '' && !now.startsWith(`${pod}_`);
    await seen('another operator', async () => isOther(await holder()), { everyMs: 200 });
  } finally {
    await faults.thaw(meta.host, ofRun);
  }
}

const operationNow = async () => (await untilCluster(meta, NAME, () => true, 10_000))?.status?.operation;

/** Requests an operation and kills the operator at each reported step until the operation ends. Returns the steps. */
async function killedAtEachStep(ask: () => Promise<unknown>): Promise<string[]> {
  const before = (await operationNow())?.id;
  await ask();
  const steps: string[] = [];
  for (;;) {
    const hasMoved = (cluster: KubernetesCluster | undefined) => {
      const operation = cluster?.status?.operation;
      if (!cluster) return true;
      if (!operation || operation.id === before) return false;
      return operation.result !== undefined || operation.step !== steps.at(-1);
    };
    const operation = (await untilCluster(meta, NAME, hasMoved, OPERATION_MS))?.status?.operation;
    if (!operation || operation.result !== undefined) return steps;
    steps.push(operation.step);
    await killOperator();
  }
}

/** Expects that one run carries out the operation and that its result matches the plan, despite the kills. */
async function done(path: string, body: Record<string, unknown>): Promise<void> {
  const act = async () => {
    const steps = await killedAtEachStep(async () =>
      expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 }),
    );
    console.log(`killed at ${steps.join(', ')}`);
    expect(steps.length).toBeGreaterThan(1);
    const cluster = await untilDone(meta, NAME, OPERATION_MS);
    expect(cluster.status).toMatchObject({ phase: 'Running', operation: { attempt: 1 } });
  };
  await asPlanned(meta, NAME, act);
}

describe('an operator that is killed at each reported step', () => {
  it('creates a cluster', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(3), kubeadm: QUICK_KEYS };
    await done(PATH, { ...body, privateSSHKey: meta.privateKey });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 3));
    history = await beginHistory(meta, NAME, host(0));
  });

  it('moves etcd to an external host', () => done(`${PATH}/etcd/move`, { etcdList: entries(1) }));

  it('moves etcd back', async () => {
    await done(`${PATH}/etcd/move`, { etcdList: [] });
    expect(await traces(1)).toEqual([]);
  });

  it('adds control planes', async () => {
    await done(`${PATH}/scaleup`, { masterList: entries(0, 1, 2) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
  });

  it('replaces a control plane', async () => {
    await done(`${PATH}/replace`, { from: entries(1)[0]?.ip, to: entries(4)[0] });
    expect(await membersOn(host(0))).toEqual(nodes(0, 2, 4));
    expect(await traces(1)).toEqual([]);
  });

  it('replaces a worker', async () => {
    await done(`${PATH}/replace`, { from: entries(3)[0]?.ip, to: entries(1)[0] });
    expect(await traces(3)).toEqual([]);
  });

  it('labels a node', () =>
    done(`${PATH}/relabel`, { nodeList: entries(1).map((one) => ({ ...one, labels: { rack: 'r1' } })) }));

  it('repairs a file that was edited by hand', async () => {
    await sh(1, `echo '# x' >> ${CONFIG}`);
    await done(`${PATH}/repair`, {});
    expect(await sh(1, `tail -1 ${CONFIG}`)).not.toContain('# x');
  });

  it('removes control planes', async () => {
    // The history's client is on a host that leaves now.
    await history?.end({ failing: true });
    await done(`${PATH}/scaledown`, { masterList: entries(4) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(1, 4));
    for (const index of [0, 2]) expect(await traces(index), `host ${index}`).toEqual([]);
  });

  it('deletes the cluster, and leaves no trace on its hosts', async () => {
    await killedAtEachStep(async () => expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200));
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    for (const index of [1, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
