import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubectl } from '#lab/kubectl.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from '../by-number.ts';
import { openLane } from '../lanes.ts';
import { asPlanned } from '../plan-and-deed.ts';
import { tracesOn } from '../traces.ts';

const NAME = 'orphan';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;

let meta: Meta;
let traces: (index: number) => Promise<string[]>;

const { entries, nodes } = byNumber(() => meta);

/** Kills the operator as a node that dies would: nothing is handed over, its lease has to run out. */
const killOperator = () =>
  kubectl(meta.kubeconfigPath, [
    ...['-n', 'matryoshka-system', 'delete', 'pod', '-l', 'app=matryoshka-controller'],
    ...['--force', '--grace-period=0', '--wait=false'],
  ]);

const operationNow = async () => (await untilCluster(meta, NAME, () => true, 10_000))?.status?.operation;

/** Asks for an operation, and kills the operator at each step that is told, until it has ended; answers the steps. */
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

/** One run carries it out, and the deed is the plan, whenever the operator was killed. */
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

describe('an operator that is killed at each step that it tells of', () => {
  beforeAll(async () => {
    meta = await openLane();
    traces = await tracesOn(meta);
  });
  afterAll(() => meta.close());
  it('makes a cluster', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(3) };
    await done(PATH, { ...body, privateSSHKey: meta.privateKey });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 3));
  });

  it('adds control planes', async () => {
    await done(`${PATH}/scaleup`, { masterList: entries(0, 1, 2) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, 3));
  });

  it('moves etcd to a host of its own', () => done(`${PATH}/etcd/move`, { etcdList: entries(4) }));

  it('moves it back', async () => {
    await done(`${PATH}/etcd/move`, { etcdList: [] });
    expect(await traces(4)).toEqual([]);
  });

  it('replaces a worker', async () => {
    await done(`${PATH}/replace`, { from: entries(3)[0]?.ip, to: entries(4)[0] });
    expect(await traces(3)).toEqual([]);
  });

  it('labels a node', () =>
    done(`${PATH}/relabel`, { nodeList: entries(4).map((one) => ({ ...one, labels: { rack: 'r1' } })) }));

  it('removes control planes', async () => {
    await done(`${PATH}/scaledown`, { masterList: entries(1) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(1, 4));
    for (const index of [0, 2]) expect(await traces(index), `host ${index}`).toEqual([]);
  });

  it('takes the cluster off its hosts', async () => {
    await killedAtEachStep(async () => expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200));
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    for (const index of [1, 4]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
