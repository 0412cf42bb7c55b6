import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { JOBS, SECRETS } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { recordOf } from '../worlds/as-planned.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let net = 150;

beforeEach(async () => {
  script = () => success;
  operator = await startOperator(inject('kubeconfigPath'), (job) => script(job));
  net += 1;
});
afterEach(() => operator.stop());

const host = (last: number) => ({ ip: `10.${net}.0.${last}` });
const spec = (...nodes: number[]): KubernetesCluster['spec'] => ({
  cluster: { masterList: [host(1)], nodeList: nodes.map(host) },
});
const word = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const annotate = (annotationsOf: Record<string, string | null>) =>
  operator.client.patch(
    KUBERNETES_CLUSTERS,
    { namespace: operator.namespace, name: 'demo' },
    { metadata: { annotations: annotationsOf } },
    { type: 'merge' },
  );
const running = (step = 'precheck') =>
  operator.until('demo', ({ status } = { metadata: {}, spec: spec() }) => status?.operation?.step === step);
const reported = () =>
  operator.until(
    'demo',
    ({ status } = { metadata: {}, spec: spec() }) => status?.operation?.cancelledAt !== undefined,
  );
const cancel = async () => {
  const id = (await operator.get('demo'))?.status?.operation?.id ?? '';
  await annotate({ [annotations.cancel]: id, [annotations.cancelledBy]: 'alice' });
};
/** Simulates a run that stops when the server notifies it, which is when status has the cancellation. */
const stopsWhenReported = (ending: Extract<Ending, { kind: 'report' }>) => async (): Promise<Ending> => {
  await reported();
  return { ...ending, reason: 'Cancelled', message: 'it stopped at step "Take hosts"' };
};
const states = async () => {
  const { items } = await operator.client.list<HostRecord>(HOSTS, { namespace: operator.operatorNamespace });
  return items
    .sort((a, b) => (a.spec.ip < b.spec.ip ? -1 : 1))
    .map(({ status }) => [status?.state, status?.touched ?? false]);
};
describe('a cancelled operation', () => {
  it('stops, reports the result of each host, and the next operation continues from there', async () => {
    script = stopsWhenReported({
      kind: 'report',
      success: false,
      undone: [host(2).ip],
      lastStep: 'Take hosts',
    });
    await operator.apply('demo', spec(2), 'creating', 'a');
    await running();
    await cancel();
    const cluster = await operator.until('demo', (now) => word(now) === 'create-cancelled');
    expect(cluster?.status).toMatchObject({
      phase: 'Failed',
      reason: 'Cancelled',
      message: `cancelled by alice: it stopped at step "Take hosts"; ${host(1).ip}: joined; ${host(2).ip}: taken, not joined`,
      operation: { result: 'cancelled', cancelledBy: 'alice' },
      requests: [{ requestId: 'a', result: 'cancelled' }],
    });
    expect(cluster?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Stalled', reason: 'Cancelled' }),
    );
    const { difference, ...record } = await recordOf(operator, 'demo');
    expect(record).toMatchObject({ result: 'cancelled', 'cancelled-by': 'alice' });
    expect(difference?.split('\n')).toEqual(
      expect.arrayContaining([
        `${host(2).ip}: planned to be joined, and was not`,
        'step "Wait for the cluster" was planned, and did not run',
      ]),
    );
    expect(await states()).toEqual([
      ['Joined', true],
      ['Held', true],
    ]);
    // The annotation stays, but names only the earlier operation.
    script = () => success;
    await operator.apply('demo', spec(2), 'creating', 'b');
    await operator.until('demo', (now) => word(now) === 'create-finished');
    await expect
      .poll(async () => operator.client.list(JOBS, { namespace: operator.operatorNamespace }))
      .toMatchObject({ items: [] });
  });

  it('ends at once between two attempts, and its hosts count as touched', async () => {
    await operator.apply('demo', { ...spec(2), paused: true }, 'creating', 'a');
    await operator.until(
      'demo',
      (now) => now?.status?.conditions?.some(({ reason }) => reason === 'Paused') ?? false,
    );
    // The operation is paused before it is accepted: it has no id, and its annotation can be removed.
    expect((await operator.get('demo'))?.status?.operation).toBeUndefined();
    script = () => ({ kind: 'lost' });
    await operator.apply('demo', spec(2), 'creating', 'a');
    await operator.until('demo', (now) => now?.status?.operation?.attempt === 2);
    const jobs = operator.started.length;
    await cancel();
    const cluster = await operator.until('demo', (now) => word(now) === 'create-cancelled');
    expect(cluster?.status?.operation?.cancelledAt).toBeUndefined();
    expect(operator.started).toHaveLength(jobs);
    // The controller does not know what the lost run did, so its hosts count as touched.
    expect(await states()).toEqual([
      ['Held', true],
      ['Held', true],
    ]);
  });

  it('finishes if its run succeeded first', async () => {
    const go = Promise.withResolvers<Ending>();
    script = () => go.promise;
    await operator.apply('demo', spec(2), 'creating', 'a');
    await running();
    await cancel();
    await reported();
    go.resolve(success);
    const cluster = await operator.until('demo', (now) => word(now) === 'create-finished');
    expect(cluster?.status?.operation?.result).toBe('finished');
  });

  it('ignores the id of another operation, and a deletion ignores its own id', async () => {
    const go = Promise.withResolvers<Ending>();
    script = () => go.promise;
    await operator.apply('demo', spec(2), 'creating', 'a');
    await running();
    await annotate({ [annotations.cancel]: 'xxxxxxxxxx' });
    go.resolve(success);
    await operator.until('demo', (now) => word(now) === 'create-finished');
    const reset = Promise.withResolvers<Ending>();
    script = () => reset.promise;
    await operator.client.delete(KUBERNETES_CLUSTERS, { namespace: operator.namespace, name: 'demo' });
    await operator.until('demo', (now) => now?.status?.operation?.step === 'precheck');
    await cancel();
    reset.resolve(success);
    await operator.until('demo', (now) => now === undefined);
    expect(await states()).toEqual([]);
  });

  it('gives way to a deletion while it stops', async () => {
    script = (job) => (job.startsWith('create') ? { kind: 'hang' } : success);
    await operator.apply('demo', spec(2), 'creating', 'a');
    await running();
    await cancel();
    await reported();
    await operator.client.delete(KUBERNETES_CLUSTERS, { namespace: operator.namespace, name: 'demo' });
    await operator.until('demo', (now) => now === undefined);
    expect(await states()).toEqual([]);
    const left = async () =>
      (await operator.client.list(SECRETS, { namespace: operator.operatorNamespace })).items;
    await expect.poll(left).toEqual([]);
  });

  it('is cancelled though the operator restarts at each point', async () => {
    const stop = Promise.withResolvers<void>();
    script = async () => {
      await stop.promise;
      return {
        kind: 'report',
        success: false,
        reason: 'Cancelled',
        message: 'it stopped',
        undone: [host(2).ip],
      };
    };
    await operator.apply('demo', spec(2), 'creating', 'a');
    await running();
    await operator.stopController();
    await cancel();
    await operator.restart();
    await reported();
    await operator.restart();
    await operator.stopController();
    stop.resolve();
    // The report exists, but no controller is running to process it.
    await expect
      .poll(async () => (await operator.client.list(JOBS, { namespace: operator.operatorNamespace })).items, {
        timeout: 20_000,
      })
      .toMatchObject([{ status: { failed: 1 } }]);
    await operator.restart();
    await operator.until('demo', (now) => now?.status?.operation?.result === 'cancelled');
    await operator.restart();
    await operator.until('demo', (now) => word(now) === 'create-cancelled');
    expect(await states()).toEqual([
      ['Joined', true],
      ['Held', true],
    ]);
    expect(operator.started).toHaveLength(1);
  });
});
