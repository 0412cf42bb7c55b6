import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { operationIdOf } from '#api/cluster-facts.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS } from '#api/core.ts';
import { HOSTS, type HostRecord, stateOf } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { annotations, labels } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { type ApiServer, startApiServer } from '#lab/apiserver/start.ts';
import { parseLimits } from '#operations/limits.ts';
import { createCluster, deleteCluster, routesOfOperations } from '#rest/asking.ts';
import { restClient } from '#rest/client.ts';
import { getOperation, getOperationLog, listOperations } from '#rest/history.ts';
import { getLogs } from '#rest/read-routes.ts';
import type { Route } from '#rest/route.ts';
import { restApp } from '#server/app.ts';
import { into } from '#server/testing/into.ts';
import { expectAsPlanned } from '../worlds/as-planned.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

const rbac: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
function routeOf(operationId: string) {
  const found = routesOfOperations.find(({ route }) => route.operationId === operationId);
  if (!found) throw new Error(`there is no route ${operationId}`);
  return found.route;
}

let script: (job: string) => Ending | Promise<Ending>;
let operator: TestOperator;
let apiServer: ApiServer;
let app: FastifyInstance;
let token: string;
let net = 100;

// A separate API server: an operator sees the clusters of all namespaces, so two operators would take each other's.
beforeAll(async () => {
  apiServer = await startApiServer({ controllerManager: true });
});
afterAll(() => apiServer.stop());
beforeEach(async () => {
  net += 1;
  script = () => ({ kind: 'report', success: true, kubeconfig: KUBECONFIG });
  operator = await startOperator(apiServer.kubeconfigPath, (job) => script(job));
  const { client, namespace, operatorNamespace } = operator;
  app = await restApp({
    client,
    tokenClient: client,
    jobClient: client,
    clock: systemClock,
    log: createLogger('silent'),
    namespace: operatorNamespace,
    reportsNamespace: operatorNamespace,
    limits: () => parseLimits(undefined),
    offer: { versions: ['v1.34.4'] },
    audiences: [],
    runnerServiceAccount: 'runner',
  });
  await client.create(SERVICE_ACCOUNTS, { metadata: { namespace, name: 'alice' } });
  await client.create(rbac, {
    metadata: { namespace, name: `alice-${randomUUID().slice(0, 8)}` },
    roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'alice' }],
  } satisfies KubeObject & { roleRef: unknown; subjects: unknown });
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/alice/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const answer = z.object({ status: z.object({ token: z.string() }) });
  token = answer.parse(await client.request('POST', path, request)).status.token;
});
afterEach(async () => {
  await app.close();
  await operator.stop();
});

const host = (last: number) => ({ ip: `10.${net}.0.${last}` });
const word = (text: string) =>
  operator.until('demo', (cluster) => cluster?.metadata.annotations?.[annotations.operation] === text);
/** Returns the status code of a call of the demo cluster's route, made with the published client. */
async function call(
  route: typeof createCluster | ReturnType<typeof routeOf> | typeof deleteCluster | typeof getLogs,
  body?: z.input<typeof createCluster.body>,
): Promise<number> {
  const client = restClient(into(app), token);
  const params = { region: 'north', name: 'demo' };
  const { status } = await client.call<
    typeof route.params,
    typeof route.query,
    z.ZodType,
    typeof route.answer
  >(route, { params, query: { namespace: operator.namespace }, body });
  return status;
}
/** Returns the answer of a route that reads the demo cluster. */
async function read<A extends z.ZodType>(
  route: Route<z.ZodType, z.ZodType, z.ZodType, A>,
  params: { id?: string; name?: string },
): Promise<z.output<A>> {
  const answer = await restClient(into(app), token).call(route, {
    params: { region: 'north', name: 'demo', ...params },
    query: { namespace: operator.namespace },
  });
  if (!answer.ok) throw new Error(answer.error.message);
  return answer.body;
}
/** Writes a record of the demo cluster as a user may, who may write ConfigMaps. */
async function forge(uid: string, data: Record<string, string>): Promise<void> {
  const { client, namespace } = operator;
  const cluster = await client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name: 'demo' });
  const clusterId = cluster.metadata.annotations?.[annotations.clusterId] ?? '';
  const owner = { apiVersion: 'ecs.yun.com/v1', kind: 'KubernetesCluster', name: 'demo', uid };
  await client.create<ConfigMap>(CONFIG_MAPS, {
    metadata: {
      ...{ namespace, name: `kube-create-${operationIdOf(clusterId, 9)}`, ownerReferences: [owner] },
      labels: { [labels.purpose]: 'record', [labels.clusterId]: clusterId },
    },
    data: { 'started-at': '2026-11-29T10:00:00Z', attempt: '1', ...data },
  });
}
/** Returns the operations of an object that a user made with the id of the demo cluster, and with a record of its log. */
async function operationsOfThief(): Promise<unknown[]> {
  const { client, namespace } = operator;
  const demo = await client.get<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name: 'demo' });
  const clusterId = demo.metadata.annotations?.[annotations.clusterId] ?? '';
  const thief = await client.create<KubernetesCluster>(KUBERNETES_CLUSTERS, {
    metadata: { namespace, name: 'thief', annotations: { [annotations.clusterId]: clusterId } },
    spec: { cluster: { masterList: [host(9)], region: 'north' } },
  });
  await operator.until('thief', (cluster) =>
    (cluster?.status?.conditions ?? []).some(({ type }) => type === 'Stalled'),
  );
  const owner = {
    apiVersion: 'ecs.yun.com/v1',
    kind: 'KubernetesCluster',
    name: 'thief',
    uid: thief.metadata.uid ?? '',
  };
  await client.create<ConfigMap>(CONFIG_MAPS, {
    metadata: {
      ...{ namespace, name: `stolen-${operationIdOf(clusterId, 1)}`, ownerReferences: [owner] },
      labels: { [labels.purpose]: 'record', [labels.clusterId]: clusterId },
    },
    data: { operation: 'create', result: 'finished', sequence: '1', attempt: '1', 'started-at': 'then' },
  });
  const { items } = await read(listOperations, { name: 'thief' });
  const log = await restClient(into(app), token).call(getOperationLog, {
    params: { region: 'north', name: 'thief', id: operationIdOf(clusterId, 1) },
    query: { namespace },
  });
  expect(log.status).toBe(404);
  await client.delete(KUBERNETES_CLUSTERS, { namespace, name: 'thief' });
  return items;
}
const joined = async () => {
  const { items } = await operator.client.list<HostRecord>(HOSTS, { namespace: operator.operatorNamespace });
  return items.filter((record) => stateOf(record) === 'Joined').map(({ spec }) => spec.ip);
};
const privateSSHKey = keyPair().private;
const creation = () => ({ masterList: [host(1)], nodeList: [host(2)], privateSSHKey });

it('a cluster is created, scaled and deleted by REST while the controller writes', async () => {
  expect(await call(createCluster, creation())).toBe(200);
  const cluster = await word('create-finished');
  expect(cluster?.status?.operation).toMatchObject({ sequence: 1, attempt: 1 });
  expect(cluster?.status?.conditions?.some(({ type }) => type === 'Stalled')).toBe(false);
  expect(await call(routeOf('scaleUp'), { nodeList: [host(2), host(3)] })).toBe(200);
  await word('scale-up-finished');
  expect(await call(routeOf('scaleDown'), { nodeList: [host(3)] })).toBe(200);
  await word('scale-down-finished');
  expect(await joined()).toEqual([host(1).ip, host(3).ip]);
  expect(await call(getLogs)).toBe(200);
  const { items } = await read(listOperations, {});
  expect(
    items.map(({ operation, sequence, result, attempt }) => [operation, sequence, result, attempt]),
  ).toEqual([
    ['scale-down', 3, 'finished', 1],
    ['scale-up', 2, 'finished', 1],
    ['create', 1, 'finished', 1],
  ]);
  const [last] = items;
  expect(last?.requestedBy).toBe(`system:serviceaccount:${operator.namespace}:alice`);
  expect(Date.parse(last?.endedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(last?.startedAt ?? ''));
  const detail = await read(getOperation, { id: last?.id ?? '' });
  expect(detail.plan?.hosts).toContainEqual({ ip: host(2).ip, action: 'leave' });
  expect(detail.difference).toEqual([]);
  expect((await read(getOperationLog, { id: last?.id ?? '' })).code).toBe('OK');
  await forge('another cluster', { operation: 'create', result: 'failed', sequence: '9' });
  expect((await read(listOperations, {})).items).toHaveLength(3);
  expect(await operationsOfThief()).toEqual([]);
  expect(await call(deleteCluster)).toBe(200);
  await operator.until('demo', (now) => now === undefined);
  expect(operator.started.map((job) => job.replace(/-[^-]+-1$/, ''))).toEqual([
    'create',
    'scale-up',
    'scale-down',
    'delete',
  ]);
  // The name can be used again at once.
  expect(await call(createCluster, creation())).toBe(200);
  await word('create-finished');
});

it('the controller accepts the plan of a dry run by its hash', async () => {
  const path = `/region/north/cluster/demo`;
  const send = async (method: 'POST' | 'DELETE', verb: string, body: object, dry = false) => {
    const query = `?namespace=${operator.namespace}${dry ? '&dryRun=All' : ''}`;
    const { statusCode, body: text } = await app.inject({
      method,
      url: `/api/v1${path}${verb}${query}`,
      headers: { authorization: `Bearer ${token}` },
      payload: JSON.stringify(body),
    });
    return { status: statusCode, json: z.looseObject({}).parse(JSON.parse(text)) };
  };
  const sealed = async (method: 'POST' | 'DELETE', verb: string, body: object) => {
    const { json } = await send(method, verb, body, true);
    const { hash: plan } = z.object({ hash: z.string() }).parse(json['plan']);
    expect((await send(method, verb, { ...body, plan })).status).toBe(200);
    return { plan, again: () => send(method, verb, { ...body, plan }) };
  };
  const { plan } = await sealed('POST', '', creation());
  expect((await word('create-finished'))?.status?.operation?.plan).toBe(plan);
  await expectAsPlanned(operator, 'demo');
  await sealed('POST', '/scaleup', { nodeList: [host(2), host(3)] });
  await word('scale-up-finished');
  await expectAsPlanned(operator, 'demo');
  const rack = { labels: { 'example.com/rack': 'r1' } };
  const { again } = await sealed('POST', '/relabel', { nodeList: [{ ...host(2), ...rack }] });
  await word('relabel-finished');
  await expectAsPlanned(operator, 'demo');
  // The plan can be used only once.
  expect(await again()).toMatchObject({ status: 409 });
  await sealed('POST', '/repair', {});
  await word('repair-finished');
  await expectAsPlanned(operator, 'demo');
  await sealed('POST', '/replace', { from: host(2).ip, to: host(4) });
  await word('replace-finished');
  await expectAsPlanned(operator, 'demo');
  await sealed('POST', '/scaledown', { nodeList: [host(3)] });
  await word('scale-down-finished');
  await expectAsPlanned(operator, 'demo');
  await sealed('DELETE', '', {});
  await operator.until('demo', (now) => now === undefined);
});

it('a failed creation is retried with a corrected body', async () => {
  script = () => ({ kind: 'report', success: false, reason: 'HostUnreachable', message: 'away' });
  expect(await call(createCluster, creation())).toBe(200);
  await word('create-failed');
  script = () => ({ kind: 'report', success: true, kubeconfig: KUBECONFIG });
  expect(await call(createCluster, creation())).toBe(409);
  expect(await call(createCluster, { retry: true, nodeList: [host(7)] })).toBe(200);
  const cluster = await word('create-finished');
  expect(cluster?.status?.operation?.sequence).toBe(2);
  expect(await joined()).toEqual([host(1).ip, host(7).ip]);
  const secrets = await operator.client.list(SECRETS, { namespace: operator.namespace });
  expect(secrets.items.map(({ metadata }) => metadata.name)).toContain('demo-kubeconfig');
});

it('a deletion records the caller of REST, and none for kubectl', async () => {
  const { client, namespace } = operator;
  const key = { namespace, name: 'demo' };
  const by: (string | undefined)[] = [];
  script = async (job) => {
    const found = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
    if (job.startsWith('delete-')) by.push(found?.status?.operation?.requestedBy);
    return { kind: 'report', success: true, kubeconfig: KUBECONFIG };
  };
  for (const remove of [() => client.delete(KUBERNETES_CLUSTERS, key), () => call(deleteCluster)]) {
    expect(await call(createCluster, creation())).toBe(200);
    await word('create-finished');
    await remove();
    await operator.until('demo', (now) => now === undefined);
  }
  expect(by).toEqual([undefined, `system:serviceaccount:${namespace}:alice`]);
});
