import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { keepHosts } from '#access/testing/made-cluster.fixture.ts';
import { findCondition } from '#api/conditions.ts';
import { JOBS, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let net = 100;

beforeEach(async () => {
  script = () => success;
  operator = await startOperator(inject('kubeconfigPath'), (job) => script(job));
  net += 1;
});
afterEach(() => operator.stop());

const spec = (...nodes: number[]): KubernetesCluster['spec'] => ({
  cluster: {
    masterList: [{ ip: `10.${net}.0.1` }],
    nodeList: nodes.map((last) => ({ ip: `10.${net}.0.${last}` })),
  },
});
const annotate = (name: string, annotationsOf: Record<string, string | null>) =>
  operator.client.patch<KubernetesCluster>(
    KUBERNETES_CLUSTERS,
    { namespace: operator.namespace, name },
    { metadata: { annotations: annotationsOf } },
    { type: 'merge' },
  );
const label = (name: string, value: string | null) => annotate(name, { [annotations.dryRun]: value });
/** Creates an object without a request, then sets the dry-run annotation, then makes the request. */
const rehearse = async (name: string, wanted: KubernetesCluster['spec'], word?: string) => {
  if (!(await operator.get(name))) await operator.apply(name, wanted);
  await label(name, 'All');
  await operator.apply(name, wanted, word, word === undefined ? undefined : `${word}-1`);
};
const planned = (name: string) =>
  operator.until(name, (cluster) => (cluster?.status?.plan?.result ?? 'Checking') !== 'Checking');
const held = async () =>
  (await operator.client.list(HOSTS, { namespace: operator.operatorNamespace })).items.length;

describe('annotation dry-run', () => {
  it('plans a creation and prechecks its hosts, takes none, and creates once it is removed', async () => {
    await rehearse('demo', spec(2), 'creating');
    const cluster = await planned('demo');
    expect(cluster?.status?.plan).toMatchObject({
      result: 'Possible',
      operation: 'create',
      hosts: { join: 2 },
    });
    expect(cluster?.status?.operation).toBeUndefined();
    expect(findCondition(cluster?.status?.conditions, 'UpToDate')).toMatchObject({
      status: 'False',
      reason: 'DryRun',
    });
    expect(operator.started.map((job) => job.split('-')[0])).toEqual(['precheck']);
    expect(await held()).toBe(0);
    await label('demo', null);
    const done = await operator.until(
      'demo',
      (now) => now?.metadata.annotations?.[annotations.operation] === 'create-finished',
    );
    expect(done?.status).not.toHaveProperty('plan');
    expect(operator.started.map((job) => job.split('-')[0])).toEqual(['precheck', 'create']);
  });

  it('reports the problem that the precheck found', async () => {
    const message = 'no room under /var/lib';
    script = () => ({ kind: 'report', success: false, reason: 'PrecheckFailed', message });
    await rehearse('demo', spec(2), 'creating');
    const cluster = await planned('demo');
    expect(cluster?.status?.plan).toMatchObject({ result: 'Refused', message: `PrecheckFailed: ${message}` });
    expect(cluster?.status?.phase).toBe('');
  });

  it('holds back an edit that would start by itself', async () => {
    await operator.apply('demo', spec(2), 'creating');
    await operator.until(
      'demo',
      ({ status } = { metadata: {}, spec: spec() }) => status?.phase === 'Running',
    );
    await rehearse('demo', spec(2, 3));
    const cluster = await planned('demo');
    expect(cluster?.status?.plan).toMatchObject({
      operation: 'scale-up',
      hosts: { join: 1, stay: 1 },
      changes: [{ ip: `10.${net}.0.3`, action: 'join' }],
    });
    expect(await held()).toBe(2);
    await label('demo', null);
    await operator.until('demo', (now) => now?.status?.operation?.name === 'scale-up');
  });

  it('works though the cluster is paused, and warns which remains are wiped', async () => {
    const { client, operatorNamespace: namespace } = operator;
    const left = { metadata: { namespace: 'other', name: 'left' }, spec: spec(2) };
    await keepHosts(client, namespace, 'old', left, 'Unclean');
    await rehearse('demo', { ...spec(2), paused: true }, 'creating');
    const { plan } = (await planned('demo'))?.status ?? {};
    expect(plan).toMatchObject({ result: 'Possible' });
    expect(plan?.warnings).toContain('is wiped first if its owner file names cluster old');
    expect(await held()).toBe(2);
  });

  it('names the cluster that holds a host', async () => {
    await operator.apply('first', spec(2), 'creating');
    await operator.until('first', (now) => now?.status?.phase === 'Running');
    await rehearse('demo', spec(2), 'creating');
    const cluster = await planned('demo');
    expect(cluster?.status?.plan).toMatchObject({
      result: 'Refused',
      message: expect.stringContaining(`10.${net}.0.1 belongs to ${operator.namespace}/first`),
    });
    expect(operator.started.map((job) => job.split('-')[0])).toEqual(['create']);
  });

  it('is approved by plan hash: a changed plan does not start', async () => {
    await rehearse('demo', spec(2), 'creating');
    const hash = (await planned('demo'))?.status?.plan?.hash ?? '';
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    // Another user adds a worker between the plan and the operation annotation.
    await operator.apply('demo', spec(2, 3), 'creating', 'creating-1');
    await annotate('demo', { [annotations.plan]: hash, [annotations.dryRun]: null });
    const stalled = await operator.until(
      'demo',
      (now) => findCondition(now?.status?.conditions, 'Stalled')?.reason === 'PlanChanged',
    );
    expect(findCondition(stalled?.status?.conditions, 'Stalled')?.message).toMatch(/plan it anew/);
    expect(stalled?.status?.operation).toBeUndefined();
    expect(await held()).toBe(0);
    // The other user removes it again.
    await operator.apply('demo', spec(2), 'creating', 'creating-1');
    await annotate('demo', { [annotations.plan]: hash });
    const done = await operator.until('demo', (now) => now?.status?.phase === 'Running');
    expect(done?.status?.operation).toMatchObject({ sequence: 1, plan: hash });
    // The approved plan does not apply to the next request.
    await annotate('demo', { [annotations.plan]: hash });
    await operator.apply('demo', spec(2, 3), 'scaling-up', 'up');
    await annotate('demo', { [annotations.plan]: hash });
    await operator.until('demo', (now) => now?.status?.operation?.sequence === 2);
  });

  it('does not block a deletion, and leaves no Job and no Secret behind', async () => {
    script = () => ({ kind: 'hang' });
    await rehearse('demo', spec(2), 'creating');
    await operator.until('demo', (now) => now?.status?.plan?.result === 'Checking');
    await operator.client.delete(KUBERNETES_CLUSTERS, { namespace: operator.namespace, name: 'demo' });
    await operator.until('demo', (now) => now === undefined);
    for (const resource of [JOBS, SECRETS]) {
      const left = async () =>
        (
          await operator.client.list(resource, {
            namespace: operator.operatorNamespace,
            labelSelector: labels.clusterId,
          })
        ).items;
      await expect.poll(left).toEqual([]);
    }
  });
});
