import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { bindRole, CLUSTER_ROLES, clientWith, makeRole, tokenOf } from '#access/testing/accounts.ts';
import { creationAnnotations, keepHosts } from '#access/testing/made-cluster.fixture.ts';
import { newAccount } from '#access/testing/new-account.ts';
import { shipRights } from '#access/testing/shipped-rights.ts';
import { CONFIG_MAPS, JOBS, SECRETS } from '#api/core.ts';
import { HOSTS } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger, type Logger } from '#base/log.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { type LimitsRead, parseLimits } from '#operations/limits.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { restApp } from '../app.ts';
import type { ServerDeps } from '../http/deps.ts';
import { type Attempt, makeAttempt } from './attempt.ts';

const OFFER = { versions: ['v1.34.4', 'v1.33.8'], hooks: true };

/** The REST API with the permissions of its manifests, on a real API server: for tests. */
export interface RestWorld {
  /** A client of a cluster administrator. */
  admin: Client;
  etcdUrl: string;
  app: FastifyInstance;
  /** The namespace of the clusters. */
  namespace: string;
  operatorNamespace: string;
  reportsNamespace: string;
  /** The server's own client. */
  client: Client;
  /** The limits of the site; tests may change them. */
  limits: { now: LimitsRead };
  serverUser: string;
  /** A kubeconfig of the server's account. */
  serverKubeconfig: string;
  /** Returns a client with that token; the caller closes it. */
  clientOf(token: string): Client;
  /** `alice` may do everything in the namespace, `bob` everything but credentials, `mallory` nothing. */
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
  /**
   * Returns the token of a new account with these permissions in the namespace and in the operator's namespace, and no
   * others.
   */
  accountWith(rules: readonly object[], inOperators?: readonly object[]): Promise<string>;
  /** Returns every object that a request could have written, with its version, from the API server. */
  written(): Promise<unknown>;
  /** Gives the server and alice their permissions in another namespace as well. */
  serve(where: string): Promise<void>;
  cluster(name: string): Promise<KubernetesCluster | undefined>;
  /** Writes what the controller writes after the creation of that cluster, including its Host records. */
  created(name: string): Promise<KubernetesCluster>;
  /** Creates a Job of that name for the cluster, with its pod. */
  attempt(job: string, cluster: string, sequence?: number): Promise<Attempt>;
  stop(): Promise<void>;
}

/**
 * Starts a separate API server: on the shared one, other tests' controllers would take up clusters that are created here.
 */
export async function restWorld(
  log: Logger = createLogger('error'),
  clusterPort?: number,
  pageDir?: string,
  { flags = [], ...more }: Pick<ServerDeps, 'login' | 'tls'> & { flags?: readonly string[] } = {},
): Promise<RestWorld> {
  const apiServer = await startApiServer({ controllerManager: true, flags });
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
  await shipRights(admin, ['15-token-secrets', '20-server-rbac'], {
    id,
    namespace: operatorNamespace,
    reportsNamespace,
  });

  const server = { namespace: operatorNamespace, name: `matryoshka-server-${id}` };
  const person = (name: string) => ({ namespace, name });
  const serve = async (where: string): Promise<void> => {
    const served = { kind: 'ClusterRole', name: `${server.name}-served-namespace` } as const;
    await bindRole(admin, { namespace: where, name: 'server' }, served, server);
    const all = { kind: 'ClusterRole', name: `matryoshka-user-${id}` } as const;
    await bindRole(admin, { namespace: where, name: 'alice' }, all, person('alice'));
  };
  for (const name of ['alice', 'bob', 'mallory'])
    await admin.create(SERVICE_ACCOUNTS, { metadata: person(name) });
  await admin.create(SERVICE_ACCOUNTS, { metadata: { namespace: operatorNamespace, name: 'runner' } });
  await serve(namespace);
  const clusters = `clusters-${id}`;
  await makeRole(admin, CLUSTER_ROLES, { name: clusters }, [
    { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['*'] },
  ]);
  await bindRole(admin, person('bob'), { kind: 'ClusterRole', name: clusters }, person('bob'));

  const serverToken = await tokenOf(admin, server);
  const client = clientWith(endpoint, serverToken);
  const limits: RestWorld['limits'] = { now: parseLimits(undefined) };
  const app = await restApp({
    client,
    tokenClient: client,
    jobClient: client,
    clock: systemClock,
    log,
    namespace: operatorNamespace,
    reportsNamespace,
    limits: () => limits.now,
    offer: OFFER,
    audiences: ['matryoshka'],
    runnerServiceAccount: 'runner',
    clusterPort,
    pageDir,
    ...more,
  });
  const tokens = {
    alice: await tokenOf(admin, person('alice')),
    bob: await tokenOf(admin, person('bob')),
    mallory: await tokenOf(admin, person('mallory')),
  };

  return {
    admin,
    etcdUrl: apiServer.etcdUrl,
    app,
    namespace,
    operatorNamespace,
    reportsNamespace,
    client,
    limits,
    clientOf: (token) => clientWith(endpoint, token),
    serverKubeconfig: apiServer.kubeconfig.replaceAll(apiServer.token, serverToken),
    serverUser: `system:serviceaccount:${server.namespace}:${server.name}`,
    tokens,
    tokenOf: (where, name, spec) => tokenOf(admin, { namespace: where, name }, spec),
    accountWith: (rules, inOperators = []) =>
      newAccount(admin, endpoint, namespace, [
        { namespace: operatorNamespace, rules: inOperators },
        { namespace, rules },
      ]),
    async written() {
      const kinds = [KUBERNETES_CLUSTERS, SECRETS, CONFIG_MAPS, HOSTS, JOBS];
      const lists = [namespace, operatorNamespace, reportsNamespace].flatMap((where) =>
        kinds.map((kind) => admin.list(kind, { namespace: where })),
      );
      return (await Promise.all(lists)).map(({ items }) =>
        items.map(({ metadata }) => [metadata.namespace, metadata.name, metadata.resourceVersion]),
      );
    },
    serve,
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
      const patch = {
        metadata: {
          annotations: creationAnnotations(`id-${name}`, resolveSpec(cluster.spec, OFFER, undefined)),
        },
      };
      await keepHosts(admin, operatorNamespace, `id-${name}`, cluster);
      return admin.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' });
    },
    attempt: (job, cluster, sequence = 1) =>
      makeAttempt(admin, operatorNamespace, { job, cluster: `${namespace}/${cluster}`, sequence }),
    async stop() {
      await app.close();
      await client.close();
      await admin.close();
      await apiServer.stop();
    },
  };
}
