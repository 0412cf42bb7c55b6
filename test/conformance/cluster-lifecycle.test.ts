import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap, JOBS, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, finalizerOf, labels } from '#api/names.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { expectAsPlanned } from '../worlds/as-planned.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let net = 0;

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
const phase = (cluster: KubernetesCluster | undefined) => cluster?.status?.phase;
const word = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation];
const names = async (resource: typeof SECRETS, purpose?: string): Promise<string[]> => {
  const { items } = await operator.client.list(resource, {
    namespace: operator.operatorNamespace,
    labelSelector: purpose === undefined ? undefined : `${labels.purpose}=${purpose}`,
  });
  return items.map(({ metadata }) => metadata.name ?? '');
};
const created = async (...nodes: number[]) => {
  await operator.apply('demo', spec(...nodes), 'creating');
  return operator.until('demo', (cluster) => word(cluster) === 'create-finished');
};
const gone = () => operator.until('demo', (cluster) => cluster === undefined);
const remove = () =>
  operator.client.delete(KUBERNETES_CLUSTERS, { namespace: operator.namespace, name: 'demo' });

describe('a cluster with operation annotations', () => {
  it('is created, scaled up and down, deleted, and leaves nothing behind', async () => {
    const cluster = await created(2, 3);
    expect(phase(cluster)).toBe('Running');
    expect(cluster?.metadata.finalizers).toEqual([finalizerOf('demo')]);
    const kubeconfig = await operator.client.get(SECRETS, {
      namespace: operator.namespace,
      name: 'demo-kubeconfig',
    });
    expect(kubeconfig).toMatchObject({ data: { value: Buffer.from(KUBECONFIG).toString('base64') } });
    const record = { namespace: operator.namespace, name: `kube-create-${cluster?.status?.operation?.id}` };
    const { data } = await operator.client.get<ConfigMap>(CONFIG_MAPS, record);
    // The record was written at the start; the end does not change it.
    expect([data?.['result'], JSON.parse(data?.['plan'] ?? '')]).toMatchObject([
      'finished',
      { hosts: [1, 2, 3].map((last) => ({ ...host(last), action: 'join' })) },
    ]);
    await expectAsPlanned(operator, 'demo');

    await operator.apply('demo', spec(2, 3, 4), 'scaling-up', 'up');
    await operator.until('demo', (now) => word(now) === 'scale-up-finished' && phase(now) === 'Running');
    expect(await names(HOSTS)).toHaveLength(4);
    await expectAsPlanned(operator, 'demo');

    await operator.apply('demo', spec(2), 'scaling-down', 'down');
    await operator.until('demo', (now) => word(now) === 'scale-down-finished' && phase(now) === 'Running');
    expect(await names(HOSTS)).toHaveLength(2);
    await expectAsPlanned(operator, 'demo');

    await remove();
    await gone();
    expect(operator.started.map((job) => job.replace(/-[^-]+-1$/, ''))).toEqual([
      'create',
      'scale-up',
      'scale-down',
      'delete',
    ]);
    await expect.poll(() => names(HOSTS)).toEqual([]);
    await expect.poll(() => names(SECRETS)).toEqual([]);
    await expect.poll(() => names(JOBS)).toEqual([]);
  });

  it('shows in its summary how to request a creation', async () => {
    await operator.apply('demo', spec(2));
    const cluster = await operator.until('demo', (now) => now?.status?.summary !== undefined);
    expect(cluster?.status?.summary).toContain('annotate app.kubernetes.io/operation=creating');
    expect(cluster?.metadata.finalizers).toBeUndefined();
    await remove();
    await gone();
    expect(operator.started).toEqual([]);
  });

  it('runs no operation again when its manifest is applied again', async () => {
    await created(2);
    await operator.apply('demo', spec(2), 'creating');
    await operator.until('demo', (cluster) => word(cluster) === 'create-finished');
    expect(operator.started).toHaveLength(1);
  });

  it('keeps an operation annotation that was set meanwhile, and runs it next', async () => {
    script = async (job) => {
      if (job.startsWith('create')) await operator.apply('demo', spec(2, 3), 'scaling-up', 'meanwhile');
      return success;
    };
    await operator.apply('demo', spec(2), 'creating');
    const cluster = await operator.until('demo', (now) => word(now) === 'scale-up-finished');
    expect(cluster?.status?.operation).toMatchObject({ sequence: 2, requestId: 'meanwhile' });
  });

  it('runs the same operation next too, if its spec changed meanwhile', async () => {
    await created(2, 3, 4);
    script = async () => {
      if (operator.started.length === 2) await operator.apply('demo', spec(2), 'scaling-down');
      return success;
    };
    await operator.apply('demo', spec(2, 3), 'scaling-down');
    const cluster = await operator.until(
      'demo',
      ({ status } = { metadata: {}, spec: spec() }) =>
        status?.operation?.sequence === 3 && status.phase === 'Running',
    );
    expect(cluster?.status?.operation).toMatchObject({ name: 'scale-down', result: 'finished' });
  });

  it('continues its sequence from the cluster state Secret when its status is lost', async () => {
    await created(2);
    const key = { namespace: operator.namespace, name: 'demo' };
    const toStatus = { type: 'merge', subresource: 'status' } as const;
    await operator.client.patch(KUBERNETES_CLUSTERS, key, { status: null }, toStatus);
    await operator.until('demo', (cluster) => cluster?.status?.operation === undefined);
    await operator.apply('demo', spec(2, 3), 'scaling-up', 'up');
    const cluster = await operator.until('demo', (now) => word(now) === 'scale-up-finished');
    expect(cluster?.status?.operation?.sequence).toBe(2);
  });

  it('infers a scale-up, and asks for confirmation before a scale-down', async () => {
    await created(2);
    await operator.apply('demo', spec(2, 3));
    await operator.until(
      'demo',
      (cluster) => cluster?.status?.operation?.name === 'scale-up' && phase(cluster) === 'Running',
    );
    await operator.apply('demo', spec(2));
    const cluster = await operator.until(
      'demo',
      (now) => now?.status?.conditions?.some(({ type }) => type === 'Stalled') ?? false,
    );
    expect(cluster?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        reason: 'NeedsConfirmation',
        message: expect.stringContaining(host(3).ip),
      }),
    );
    expect(operator.started).toHaveLength(2);
  });

  it('scales down by an edit alone if the policy allows it', async () => {
    await created(2, 3);
    await operator.apply('demo', { ...spec(2), policy: { inferDestructive: true } });
    const isDone = (cluster: KubernetesCluster | undefined) =>
      cluster?.status?.operation?.name === 'scale-down' && phase(cluster) === 'Running';
    await operator.until('demo', isDone);
    expect(operator.started).toHaveLength(2);
  });

  it('fails with the reason of its report, and succeeds with the next request', async () => {
    script = () => ({ kind: 'report', success: false, reason: 'HostUnreachable', message: 'host away' });
    await operator.apply('demo', spec(2), 'creating', 'a');
    const failed = await operator.until('demo', (cluster) => word(cluster) === 'create-failed');
    expect(failed?.status).toMatchObject({
      phase: 'Failed',
      reason: 'HostUnreachable',
      message: 'host away',
      summary: 'create failed: HostUnreachable: read the message, then set "creating" and a new request-id',
    });
    script = () => success;
    await operator.apply('demo', spec(2), 'creating', 'b');
    const cluster = await operator.until('demo', (now) => word(now) === 'create-finished');
    expect(cluster?.status?.operation?.sequence).toBe(2);
  });

  it('repeats a lost attempt under the same sequence', async () => {
    script = (job) => (job.endsWith('-1') ? { kind: 'lost' } : success);
    const cluster = await created(2);
    expect(cluster?.status?.operation).toMatchObject({ sequence: 1, attempt: 2 });
  });

  it('keeps its Job when the operator restarts', async () => {
    script = () => ({ kind: 'hang' });
    await operator.apply('demo', spec(2), 'creating');
    await operator.until(
      'demo',
      (cluster) => cluster?.status?.operation?.step !== undefined && operator.started.length === 1,
    );
    await operator.restart();
    await operator.until('demo', (cluster) => cluster?.status?.operation?.step === 'precheck');
    expect(await names(JOBS)).toHaveLength(1);
  });

  it('is deleted with its namespace while it is being created', async () => {
    script = (job) => (job.startsWith('create') ? { kind: 'hang' } : success);
    await operator.apply('demo', spec(2), 'creating');
    await operator.until('demo', (cluster) => cluster?.status?.operation?.step === 'precheck');
    await operator.client.delete(NAMESPACES, { namespace: '', name: operator.namespace });
    await gone();
    expect(operator.started.map((job) => job.split('-')[0])).toEqual(['create', 'delete']);
    await expect.poll(() => names(HOSTS)).toEqual([]);
  });

  it('ends its deletion though a host is away, and keeps the record of that host', async () => {
    await created(2);
    script = () => ({ kind: 'report', success: true, failedHosts: [host(2).ip] });
    await remove();
    await gone();
    expect(await names(HOSTS)).toEqual([`10.${net}.0.2`]);
    await expect.poll(() => names(SECRETS, 'tombstone')).toHaveLength(1);
    await operator.apply('second', spec(2), 'creating');
    script = () => success;
    await operator.until('second', (cluster) => word(cluster) === 'create-finished');
  });

  it('resets its hosts though a user removed its finalizer', async () => {
    await created(2);
    script = () => ({ kind: 'hang' });
    await remove();
    await operator.until('demo', (cluster) => cluster?.status?.operation?.step === 'precheck');
    const { uid } = (await operator.get('demo'))?.metadata ?? {};
    script = () => success;
    const key = { namespace: operator.namespace, name: 'demo' };
    await operator.client.patch(
      KUBERNETES_CLUSTERS,
      key,
      { metadata: { finalizers: null } },
      { type: 'merge' },
    );
    await operator.until('demo', (cluster) => cluster !== undefined && cluster.metadata.uid !== uid);
    await gone();
    expect(operator.started.map((job) => job.split('-')[0])).toEqual(['create', 'delete', 'delete']);
    await expect.poll(() => names(HOSTS)).toEqual([]);
    await expect.poll(() => names(SECRETS)).toEqual([]);
    await expect.poll(() => names(JOBS)).toEqual([]);
  });

  it('fetches the kubeconfig when the report is lost, and when its Secret is', async () => {
    script = (job) => (job.startsWith('create') ? { kind: 'undelivered' } : success);
    await created(2);
    const key = { namespace: operator.namespace, name: 'demo-kubeconfig' };
    expect(await operator.client.find(SECRETS, key)).toBeDefined();
    await operator.client.delete(SECRETS, key);
    // Any change of the object triggers a reconcile; without one, the interval is ten minutes.
    await operator.client.patch(
      KUBERNETES_CLUSTERS,
      { namespace: operator.namespace, name: 'demo' },
      { metadata: { labels: { check: 'now' } } },
      { type: 'merge' },
    );
    await expect.poll(() => operator.client.find(SECRETS, key), { timeout: 20_000 }).toBeDefined();
    expect(operator.started.filter((job) => job.startsWith('fetch')).length).toBeGreaterThan(0);
  });

  it('takes no host of another cluster', async () => {
    await created(2);
    await operator.apply('second', { cluster: { masterList: [host(9)], nodeList: [host(2)] } }, 'creating');
    const cluster = await operator.until('second', (now) => phase(now) === 'Failed');
    expect(cluster?.status?.reason).toBe('HostConflict');
    expect(operator.started).toHaveLength(1);
  });

  it('waits for a host that another cluster prechecks, and takes it when that precheck fails', async () => {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    script = (job) => (job.startsWith('create') && operator.started.length === 1 ? promise : success);
    await operator.apply('demo', spec(2), 'creating');
    await operator.until('demo', (now) => now?.status?.operation?.step === 'precheck');
    await operator.apply('second', { cluster: { masterList: [host(10)], nodeList: [host(2)] } }, 'creating');
    const waiting = await operator.until('second', (now) =>
      (now?.status?.conditions ?? []).some(({ message }) => message?.startsWith('waits for hosts')),
    );
    expect(waiting?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Reconciling',
        reason: 'Queued',
        message: `waits for hosts that another cluster prechecks: ${host(2).ip} belongs to ${operator.namespace}/demo`,
      }),
    );
    // It holds none of its own hosts while it waits, not even one whose address comes first.
    expect(await names(HOSTS)).toHaveLength(2);
    resolve({ kind: 'report', success: false, reason: 'HostAuthenticationFailed', isShutOut: true });
    await operator.until('demo', (now) => phase(now) === 'Failed');
    await operator.until('second', (now) => word(now) === 'create-finished');
  });

  it.each([
    ['does nothing in the name of a copy', []],
    ['does nothing in the name of a copy, though it has the finalizer too', [finalizerOf('copy')]],
  ])('%s', async (_what, finalizers) => {
    const original = await created(2);
    const id = original?.metadata.annotations?.[annotations.clusterId] ?? '';
    await operator.client.create(KUBERNETES_CLUSTERS, {
      apiVersion: 'ecs.yun.com/v1',
      kind: 'KubernetesCluster',
      metadata: {
        namespace: operator.namespace,
        name: 'copy',
        finalizers,
        annotations: { [annotations.operation]: 'creating', [annotations.clusterId]: id },
      },
      spec: spec(2),
    } satisfies KubernetesCluster);
    const copy = await operator.until(
      'copy',
      (now) => now?.status?.conditions?.some(({ type }) => type === 'Stalled') ?? false,
    );
    expect(copy?.status?.conditions).toContainEqual(expect.objectContaining({ reason: 'IdentityConflict' }));
    // The copy does not show the hosts of the other object either.
    expect(copy?.status).not.toHaveProperty('hostStates.Joined');
    expect(operator.started).toHaveLength(1);
  });
});
