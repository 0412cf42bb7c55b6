import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomFrom } from '#base/testing/random.ts';
import { readyNodesOf, untilCluster, untilDone } from '#lab/meta/cluster.ts';
import { faults } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byNumber } from './by-number.ts';
import { membersOn } from './etcd-members.ts';
import { openLane } from './lanes.ts';
import { QUICK_KEYS } from './quick-keys.ts';
import { tracesOn } from './traces.ts';
import { beginHistory } from './with-history.ts';

const NAME = 'cut';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 10 * 60_000;
const [WORKER, SPARE] = [3, 4];
/** A step may end before it is killed, but not several. */
const ENOUGH_KILLS = 7;
let kills = 0;
/** A step is killed at most this long after its start was seen. */
const WITHIN_MS = 3_000;
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const random = randomFrom(seed);

let meta: Meta;
let traces: (index: number) => Promise<string[]>;
let history: Awaited<ReturnType<typeof beginHistory>> | undefined;

beforeAll(async () => {
  console.log(`SEED=${seed}`);
  meta = await openLane();
  traces = await tracesOn(meta);
});
afterAll(async () => {
  await history?.drop();
  await meta.close();
});

const { entries, host, nodes } = byNumber(() => meta);
const ended = /-(finished|failed)$/;
const operationValue = (annotations: Readonly<Record<string, string>> = {}) =>
  annotations['app.kubernetes.io/operation'] ?? '';

/** Requests an operation and kills the pod of its run at each of these steps. Returns the number of kills. */
async function cutAt(steps: readonly string[], path: string, body: Record<string, unknown>): Promise<number> {
  expect(await meta.rest.raw('POST', path, body)).toMatchObject({ status: 200 });
  let killed = 0;
  for (const step of steps) {
    const at = await untilCluster(
      meta,
      NAME,
      (one) =>
        ended.test(operationValue(one?.metadata.annotations)) ||
        (one?.status?.operation?.step === step && one.status.operation.attempt === killed + 1),
      OPERATION_MS,
    );
    if (ended.test(operationValue(at?.metadata.annotations))) break;
    const afterMs = Math.floor(random() * WITHIN_MS);
    await sleep(afterMs);
    const done = await faults.kill(meta.host, 'ansibleinit.js', `CLUSTER_NAME=${NAME}`);
    console.log(`${done ? 'killed' : 'came too late'} ${afterMs} ms into "${step}"`);
    if (done) killed += 1;
  }
  return killed;
}

/** Does the same, and expects success after one attempt for each kill and one more. */
async function doneThough(steps: readonly string[], path: string, body: Record<string, unknown>) {
  const killed = await cutAt(steps, path, body);
  kills += killed;
  const cluster = await untilDone(meta, NAME, OPERATION_MS);
  // Prints the log of an attempt that failed without a kill, because the cluster is removed later.
  if (cluster.status?.operation?.attempt !== killed + 1)
    console.log(JSON.stringify((await meta.rest.raw('GET', `${PATH}/logs`)).body).slice(-20_000));
  expect(cluster.status).toMatchObject({ phase: 'Running', operation: { attempt: killed + 1 } });
}

/** Picks one of these steps at random, because each kill costs one attempt. */
const oneOf = (...steps: readonly string[]): readonly string[] =>
  steps.slice(Math.floor(random() * steps.length)).slice(0, 1);

const membersAt = (index: number) => membersOn(host(index));

describe('operations whose runs are killed, during reads and writes,', () => {
  it('create a cluster', async () => {
    const body = { name: NAME, masterList: entries(0), nodeList: entries(WORKER), kubeadm: QUICK_KEYS };
    await doneThough(oneOf('Prepare hosts, start the control plane', 'Wait for the cluster'), PATH, {
      ...body,
      privateSSHKey: meta.privateKey,
    });
    history = await beginHistory(meta, NAME, host(WORKER));
  });

  it('move etcd to an external host', () =>
    doneThough(['Add etcd members', 'Point API servers at etcd'], `${PATH}/etcd/move`, {
      etcdList: entries(SPARE),
    }));

  it('keep a linearizable history', async () => {
    // A move of etcd restarts the only API server of the cluster.
    await history?.end({ failing: true });
    history = await beginHistory(meta, NAME, host(WORKER));
  });

  it('add two control planes to external etcd', async () => {
    await doneThough(['Join hosts', 'Join hosts'], `${PATH}/scaleup`, { masterList: entries(0, 1, 2) });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(0, 1, 2, WORKER));
  });

  it('move etcd to three control planes, with a retry if three runs were killed', async () => {
    const steps = ['Add etcd members', 'Point API servers at etcd', 'Remove etcd members'];
    const killed = await cutAt(steps, `${PATH}/etcd/move`, { etcdList: [] });
    kills += killed;
    if (killed === steps.length) {
      await untilCluster(meta, NAME, (one) => one?.status?.phase === 'Failed', OPERATION_MS);
      expect(await meta.rest.raw('POST', `${PATH}/etcd/move`, { etcdList: [], retry: true })).toMatchObject({
        status: 200,
      });
    }
    await untilDone(meta, NAME, OPERATION_MS);
    expect(await membersAt(1)).toEqual(nodes(0, 1, 2));
    expect(await traces(SPARE)).toEqual([]);
  });

  it('replace the first control plane', async () => {
    const replace = { from: entries(0)[0]?.ip, to: entries(SPARE)[0] };
    await doneThough(oneOf('Join hosts', 'Remove etcd members'), `${PATH}/replace`, replace);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(1, 2, WORKER, SPARE));
    expect(await membersAt(1)).toEqual(nodes(1, 2, SPARE));
    expect(await traces(0)).toEqual([]);
  });

  it('scale down to one control plane', async () => {
    await doneThough(oneOf('Remove etcd members', 'Reset hosts'), `${PATH}/scaledown`, {
      masterList: entries(2),
    });
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(2, WORKER));
    expect(await membersAt(2)).toEqual(nodes(2));
  });

  it('lose no request, and keep a linearizable history', async () => {
    expect(history).toBeDefined();
    await history?.end();
  });

  it('delete the cluster, and leave no trace on its hosts', async () => {
    expect((await meta.rest.raw('DELETE', PATH)).status).toBe(200);
    await untilCluster(meta, NAME, (one) => one?.status?.operation?.step === 'Reset hosts', OPERATION_MS);
    if (await faults.kill(meta.host, 'ansibleinit.js', `CLUSTER_NAME=${NAME}`)) kills += 1;
    expect(kills).toBeGreaterThanOrEqual(ENOUGH_KILLS);
    await untilCluster(meta, NAME, (cluster) => cluster === undefined, OPERATION_MS);
    for (const index of [0, 1, 2, WORKER, SPARE]) expect(await traces(index), `host ${index}`).toEqual([]);
  });
});
