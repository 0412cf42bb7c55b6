import { readFileSync } from 'node:fs';
import { afterEach, expect, inject, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { findCondition } from '#api/conditions.ts';
import { JOBS } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Resource } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { type Clock, systemClock } from '#base/clock.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { KUBECONFIG, startOperator, type TestOperator } from '../worlds/operator.ts';
import type { Ending } from '../worlds/scripted-jobs.ts';

/** Policies of other parties that forbid what the operator does (reliability row 24). */
const success: Ending = { kind: 'report', success: true, kubeconfig: KUBECONFIG };
/** A clock that is 30 times as fast: a recheck after half a minute happens after a second. */
const hasty: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms / 30, run) };
const spec = { cluster: { masterList: [{ ip: '10.249.0.1' }], nodeList: [{ ip: '10.249.0.2' }] } };
let operator: TestOperator;
afterEach(() => operator.stop());

const stalled = (reason: string) => (cluster: KubernetesCluster | undefined) =>
  findCondition(cluster?.status?.conditions, 'Stalled')?.reason === reason;
const finished = (cluster: KubernetesCluster | undefined) =>
  cluster?.metadata.annotations?.[annotations.operation] === 'create-finished';

const admission = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const POLICIES = admission('ValidatingAdmissionPolicy', 'validatingadmissionpolicies');
const BINDINGS = admission('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings');

async function forbidJobs(client: Client, namespace: string): Promise<() => Promise<void>> {
  const key = { namespace: '', name: `no-jobs-${namespace}` };
  const jobs = { apiGroups: ['batch'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['jobs'] };
  const policy = {
    metadata: { name: key.name },
    spec: {
      matchConstraints: { resourceRules: [jobs] },
      validations: [{ expression: 'false', message: 'no Jobs today', reason: 'Forbidden' }],
    },
  };
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const binding = {
    metadata: { name: key.name },
    spec: {
      policyName: key.name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector },
    },
  };
  await client.create(POLICIES, policy);
  await client.create(BINDINGS, binding);
  // The API server enforces a policy only after its own watch has delivered it.
  const container = { name: 'a', image: 'a' };
  const template = { spec: { restartPolicy: 'Never', containers: [container] } };
  const probe = { metadata: { namespace, name: 'probe' }, spec: { template } };
  const isInForce = () =>
    client.create(JOBS, probe, { dryRun: true }).then(
      () => false,
      (error: unknown) => isApiError(error, 'Forbidden'),
    );
  await expect.poll(isInForce, { timeout: 20_000 }).toBe(true);
  return async () => {
    await client.delete(BINDINGS, key);
    await client.delete(POLICIES, key);
  };
}

it('reports a policy that denies its Job, and continues once the policy is removed', async () => {
  operator = await startOperator(inject('kubeconfigPath'), () => success, { clock: hasty });
  const lift = await forbidJobs(operator.client, operator.operatorNamespace);
  try {
    await operator.apply('demo', spec, 'creating');
    const denied = await operator.until('demo', stalled('Denied'));
    expect(findCondition(denied?.status?.conditions, 'Stalled')?.message).toContain('no Jobs today');
    expect(findCondition(denied?.status?.conditions, 'Reconciling')).toBeUndefined();
    expect(denied?.status?.operation).toMatchObject({ sequence: 1, attempt: 1 });
  } finally {
    await lift();
  }
  const made = await operator.until('demo', finished);
  expect(findCondition(made?.status?.conditions, 'Stalled')).toBeUndefined();
  expect(made?.status?.operation).toMatchObject({ sequence: 1, attempt: 1 });
});

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const ROLE_BINDINGS = rbac('RoleBinding', 'rolebindings', true);
const KINDS: Record<string, Resource> = {
  ServiceAccount: SERVICE_ACCOUNTS,
  ClusterRole: rbac('ClusterRole', 'clusterroles', false),
  ClusterRoleBinding: rbac('ClusterRoleBinding', 'clusterrolebindings', false),
  Role: rbac('Role', 'roles', true),
  RoleBinding: ROLE_BINDINGS,
};
const ACCOUNT = 'matryoshka-controller';
const shipped = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });

/** Returns a client of the controller's own account with the shipped permissions, without any served namespace. */
async function asShipped(admin: Client, namespace: string): Promise<Client> {
  const file = new URL('../../deploy/manifests/10-controller-rbac.yaml', import.meta.url);
  const text = readFileSync(file, 'utf8')
    .replaceAll(/matryoshka-(system|reports)/g, namespace)
    .replaceAll(
      /kind: ClusterRoleBinding\nmetadata: \{ name: ([a-z-]+) \}/g,
      `kind: ClusterRoleBinding\nmetadata: { name: $1-${namespace} }`,
    );
  for (const document of parseAllDocuments(text)) {
    const object = shipped.parse(document.toJS());
    const resource = KINDS[object.kind];
    if (!resource) throw new Error(`${object.kind} is no kind of this test`);
    await admin.apply(resource, object, { fieldManager: 'test', force: true });
  }
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${ACCOUNT}/token`;
  const wanted = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { token } = tokenSchema.parse(await admin.request('POST', path, wanted)).status;
  const endpoint = await loadEndpoint({ kubeconfig: inject('kubeconfigPath') });
  const headers = () => ({ authorization: `Bearer ${token}` });
  return createClient({ ...endpoint, headers }, { userAgent: 'matryoshka-test' });
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Asks the API server by SubjectAccessReview, because it notices a deleted binding only after a moment. */
async function mayReadSecrets(admin: Client, namespace: string, operatorNamespace: string): Promise<boolean> {
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: `system:serviceaccount:${operatorNamespace}:${ACCOUNT}`,
      resourceAttributes: { namespace, verb: 'get', resource: 'secrets' },
    },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  return reviewSchema.parse(await admin.request('POST', path, review)).status.allowed;
}

it('deletes a cluster with its namespace though a host is away', async () => {
  const [, away = ''] = ['10.249.0.1', '10.249.0.2'];
  const script = (job: string): Ending =>
    job.startsWith('delete-') ? { ...success, failedHosts: [away] } : success;
  operator = await startOperator(inject('kubeconfigPath'), script, { clock: hasty });
  const { client, namespace, operatorNamespace } = operator;
  await operator.apply('demo', spec, 'creating');
  await operator.until('demo', finished);
  await client.delete(NAMESPACES, { namespace: '', name: namespace });
  await operator.until('demo', (cluster) => cluster === undefined);
  const record = await client.find<HostRecord>(HOSTS, { namespace: operatorNamespace, name: away });
  expect(record?.status?.state).toBe('Unclean');
  await expect
    .poll(() => client.find(NAMESPACES, { namespace: '', name: namespace }), { timeout: 20_000 })
    .toBeUndefined();
});

it('reports a namespace that it does not serve, and starts once it does', async () => {
  operator = await startOperator(inject('kubeconfigPath'), () => success, {
    clock: hasty,
    clientOf: asShipped,
  });
  const { client, namespace, operatorNamespace } = operator;
  await operator.apply('demo', spec, 'creating');
  const refused = await operator.until('demo', stalled('NamespaceNotServed'));
  expect(findCondition(refused?.status?.conditions, 'Stalled')?.message).toContain(namespace);
  expect(refused?.status?.operation).toBeUndefined();
  const served = {
    metadata: { namespace, name: ACCOUNT },
    roleRef: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'matryoshka-served-namespace',
    },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: operatorNamespace }],
  };
  await client.create(ROLE_BINDINGS, served);
  const made = await operator.until('demo', finished);
  expect(findCondition(made?.status?.conditions, 'Stalled')).toBeUndefined();

  await client.delete(ROLE_BINDINGS, { namespace, name: ACCOUNT });
  await expect.poll(() => mayReadSecrets(client, namespace, operatorNamespace)).toBe(false);
  const touch = { metadata: { labels: { touched: 'yes' } } };
  await client.patch(KUBERNETES_CLUSTERS, { namespace, name: 'demo' }, touch, { type: 'merge' });
  const left = await operator.until('demo', stalled('NamespaceNotServed'));
  expect(findCondition(left?.status?.conditions, 'Ready')?.status).toBe('True');
  await client.create(ROLE_BINDINGS, served);
  await operator.until('demo', (cluster) => !stalled('NamespaceNotServed')(cluster));
  await client.delete(KUBERNETES_CLUSTERS, { namespace, name: 'demo' });
  await operator.until('demo', (cluster) => cluster === undefined);
});
