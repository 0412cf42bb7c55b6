import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { keepHosts, madeMarks } from '#access/testing/made-cluster.fixture.ts';
import { CONFIG_MAPS, JOBS, PODS, type Pod, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { labels, marks } from '#api/names.ts';
import { sleep, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { restApp } from './app.ts';

const core = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  ...core(kind, plural, namespaced),
  group: 'rbac.authorization.k8s.io',
});
const policy = (kind: string, plural: string): Resource => ({
  ...core(kind, plural, false),
  group: 'admissionregistration.k8s.io',
});
const SHIPPED: Readonly<Record<string, Resource>> = {
  ServiceAccount: SERVICE_ACCOUNTS,
  Role: rbac('Role', 'roles', true),
  RoleBinding: rbac('RoleBinding', 'rolebindings', true),
  ClusterRole: rbac('ClusterRole', 'clusterroles', false),
  ValidatingAdmissionPolicy: policy('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  ValidatingAdmissionPolicyBinding: policy(
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
  ),
  ClusterRoleBinding: rbac('ClusterRoleBinding', 'clusterrolebindings', false),
};

const rulesAnswer = z.object({ status: z.object({ resourceRules: z.array(z.unknown()) }) });
const repository = new URL('../../', import.meta.url);
const fileText = (path: string): string => readFileSync(new URL(path, repository), 'utf8');

/** Waits until a call of `ask` answers something. */
export async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (let tried = 0; tried < 100; tried += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(100);
  }
  throw new Error('not within 10 s');
}

export interface Attempt {
  job: string;
  pod: Pod;
  /** A token as the pod gets it, or one with another audience. */
  token(audience?: string): Promise<string>;
}

/** The REST API under the rights that its manifests give it, on a real API server: for tests. */
export interface RestWorld {
  /** Cluster admin. */
  admin: Client;
  app: FastifyInstance;
  /** Where clusters are made. */
  namespace: string;
  operatorNamespace: string;
  reportsNamespace: string;
  /** The server's own. */
  client: Client;
  serverUser: string;
  /** A client with that token, to be closed. */
  clientOf(token: string): Client;
  /** `alice` may all in the namespace, `bob` all but credentials, `mallory` nothing. */
  tokens: Record<'alice' | 'bob' | 'mallory', string>;
  tokenOf(namespace: string, account: string, spec?: object): Promise<string>;
  call(
    who: string | undefined,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{
    status: number;
    body: unknown;
    text: string;
    headers: Record<string, string | number | string[] | undefined>;
  }>;
  /** A token of a new account that may do this in the namespace, that in the operator's, and nothing else. */
  accountWith(rules: readonly object[], inOperators?: readonly object[]): Promise<string>;
  /** Every object that a request could have written, with its version, as the API server has it. */
  written(): Promise<unknown>;
  /** Gives the server and alice their rights in another namespace as well. */
  serve(where: string): Promise<void>;
  cluster(name: string): Promise<KubernetesCluster | undefined>;
  /** Writes what the controller writes when the cluster of that name was made; its hosts are no other's any more. */
  created(name: string): Promise<KubernetesCluster>;
  /** A Job of that name for the cluster, with its pod. */
  attempt(job: string, cluster: string, sequence?: number): Promise<Attempt>;
  stop(): Promise<void>;
}

/** The API server is its own: on the run's, the controllers of other tests would take up clusters that are made here. */
export async function restWorld(): Promise<RestWorld> {
  const apiServer = await startApiServer({ controllerManager: true });
  const endpoint = await loadEndpoint({ kubeconfig: apiServer.kubeconfigPath });
  const admin = createClient(endpoint, { userAgent: 'matryoshka-test' });
  const id = randomUUID().slice(0, 8);
  const [namespace, operatorNamespace, reportsNamespace] = [
    `people-${id}`,
    `operator-${id}`,
    `reports-${id}`,
  ];
  await installCrds(admin);
  for (const name of [namespace, operatorNamespace, reportsNamespace])
    await admin.create(NAMESPACES, { metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } });

  // The manifests as they are shipped, under names of their own: what they leave out, no test can do.
  const text = ['15-token-secrets', '20-server-rbac']
    .map((name) => fileText(`deploy/manifests/${name}.yaml`))
    .join('---\n')
    .replaceAll('matryoshka-system', operatorNamespace)
    .replaceAll('matryoshka-reports', reportsNamespace)
    .replaceAll(/ame: matryoshka-(server|user|token-secrets)/g, `ame: matryoshka-$1-${id}`);
  for (const document of parseAllDocuments(text)) {
    const object: KubeObject = document.toJS();
    const resource = SHIPPED[object.kind ?? ''];
    if (!resource) throw new Error(`unexpected kind ${object.kind}`);
    await admin.create(resource, object);
  }
  const server = `matryoshka-server-${id}`;
  const bind = (
    name: string,
    kind: string,
    role: string,
    subject: { name: string; namespace: string },
    where = namespace,
  ) =>
    admin.create(rbac('RoleBinding', 'rolebindings', true), {
      metadata: { namespace: where, name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects: [{ kind: 'ServiceAccount', ...subject }],
    } satisfies KubeObject & { roleRef: unknown; subjects: unknown });
  await bind('server', 'ClusterRole', `${server}-served-namespace`, {
    name: server,
    namespace: operatorNamespace,
  });
  for (const name of ['alice', 'bob', 'mallory'])
    await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name } });
  await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace: operatorNamespace, name: 'runner' } });
  await bind('alice', 'ClusterRole', `matryoshka-user-${id}`, { name: 'alice', namespace });
  const clusters = `clusters-${id}`;
  await admin.create(rbac('ClusterRole', 'clusterroles', false), {
    metadata: { name: clusters },
    rules: [{ apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['*'] }],
  } satisfies KubeObject & { rules: unknown });
  await bind('bob', 'ClusterRole', clusters, { name: 'bob', namespace });

  const tokenOf = async (where: string, account: string, spec: object = {}): Promise<string> => {
    const path = `/api/v1/namespaces/${where}/serviceaccounts/${account}/token`;
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    const answer = z.object({ status: z.object({ token: z.string() }) });
    return answer.parse(await admin.request('POST', path, body)).status.token;
  };
  const clientOf = (token: string): Client =>
    createClient(
      { ...endpoint, tls: () => endpoint.tls(), headers: () => ({ authorization: `Bearer ${token}` }) },
      { userAgent: 'matryoshka-test' },
    );
  const client = clientOf(await tokenOf(operatorNamespace, server));
  const app = await restApp({
    client,
    clock: systemClock,
    log: createLogger('error'),
    namespace: operatorNamespace,
    reportsNamespace,
    offer: { versions: ['v1.34.4', 'v1.33.8'] },
    audiences: ['matryoshka'],
    runnerServiceAccount: 'runner',
  });
  const tokens = {
    alice: await tokenOf(namespace, 'alice'),
    bob: await tokenOf(namespace, 'bob'),
    mallory: await tokenOf(namespace, 'mallory'),
  };

  return {
    admin,
    app,
    namespace,
    operatorNamespace,
    reportsNamespace,
    client,
    clientOf,
    serverUser: `system:serviceaccount:${operatorNamespace}:${server}`,
    tokens,
    tokenOf,
    async accountWith(rules, inOperators = []) {
      const name = `account-${randomUUID().slice(0, 8)}`;
      await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace, name } });
      for (const [where, given] of [
        [operatorNamespace, inOperators],
        [namespace, rules],
      ] as const) {
        await admin.create(rbac('Role', 'roles', true), {
          metadata: { namespace: where, name },
          rules: given,
        } satisfies KubeObject & { rules: unknown });
        await bind(name, 'Role', name, { name, namespace }, where);
      }
      const token = await tokenOf(namespace, name);
      // The authorizer takes up a role after a moment: the whole of it at once.
      const client = clientOf(token);
      const knows = async (where: string) => {
        const review = {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectRulesReview',
          spec: { namespace: where },
        };
        const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
        const answer = rulesAnswer.parse(await client.request('POST', path, review));
        return JSON.stringify(answer.status.resourceRules).includes('ecs.yun.com') || undefined;
      };
      if (inOperators.length > 0) await eventually(() => knows(operatorNamespace));
      if (rules.length > 0) await eventually(() => knows(namespace));
      await client.close();
      return token;
    },
    async written() {
      const kinds = [KUBERNETES_CLUSTERS, SECRETS, CONFIG_MAPS, HOSTS, JOBS];
      const lists = [namespace, operatorNamespace, reportsNamespace].flatMap((where) =>
        kinds.map((kind) => admin.list(kind, { namespace: where })),
      );
      return (await Promise.all(lists)).map(({ items }) =>
        items.map(({ metadata }) => [metadata.namespace, metadata.name, metadata.resourceVersion]),
      );
    },
    async serve(where) {
      const roles = [
        ['server', `${server}-served-namespace`, { name: server, namespace: operatorNamespace }],
        ['alice', `matryoshka-user-${id}`, { name: 'alice', namespace }],
      ] as const;
      for (const [name, role, subject] of roles) await bind(name, 'ClusterRole', role, subject, where);
    },
    async call(token, method, url, body, headers = {}) {
      const answer = await app.inject({
        method,
        url: `/api/v1${url}`,
        headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
        ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const type = String(answer.headers['content-type'] ?? '');
      const parsed: unknown = type.includes('json') ? answer.json() : undefined;
      return { status: answer.statusCode, body: parsed, text: answer.body, headers: answer.headers };
    },
    cluster: (name) => admin.find<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name }),
    async created(name) {
      const key = { namespace, name };
      const cluster = await admin.get<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
      const patch = { metadata: { annotations: madeMarks(`id-${name}`, cluster.spec) } };
      await keepHosts(admin, operatorNamespace, `id-${name}`, cluster);
      return admin.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' });
    },
    async attempt(job, cluster, sequence = 1) {
      const marked = {
        labels: {
          [labels.purpose]: 'attempt',
          [labels.clusterId]: 'c1',
          [labels.sequence]: String(sequence),
          [labels.attempt]: '1',
        },
        annotations: { [marks.cluster]: `${namespace}/${cluster}` },
      };
      const object: KubeObject & { spec: unknown } = {
        metadata: { namespace: operatorNamespace, name: job, ...marked },
        spec: {
          backoffLimit: 0,
          podReplacementPolicy: 'Failed',
          template: {
            metadata: marked,
            spec: {
              restartPolicy: 'Never',
              serviceAccountName: 'runner',
              automountServiceAccountToken: false,
              containers: [{ name: 'ansibleinit', image: 'runner' }],
            },
          },
        },
      };
      await admin.create(JOBS, object);
      const pod = await eventually(async () => {
        const labelSelector = `batch.kubernetes.io/job-name=${job}`;
        return (await admin.list<Pod>(PODS, { namespace: operatorNamespace, labelSelector })).items[0];
      });
      const { name = '', uid = '' } = pod.metadata;
      return {
        job,
        pod,
        token: (audience = 'matryoshka-callback') =>
          tokenOf(operatorNamespace, 'runner', {
            audiences: [audience],
            boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
          }),
      };
    },
    async stop() {
      await app.close();
      await client.close();
      await admin.close();
      await apiServer.stop();
    },
  };
}
