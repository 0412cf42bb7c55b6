import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { accessBy } from '#access/access.ts';
import { hostRecordsOf } from '#access/host-records.ts';
import { clustersOf } from '#access/namespace-clusters.ts';
import { bindRole, clientWith, makeRole, ROLES, tokenOf } from '#access/testing/accounts.ts';
import { creationAnnotations, keepHosts } from '#access/testing/made-cluster.fixture.ts';
import { shipRights } from '#access/testing/shipped-rights.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster, type Spec } from '#api/kubernetes-cluster.ts';
import type { Resource } from '#api/meta.ts';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import { type LimitsRead, parseLimits } from '#operations/limits.ts';
import { resolveSpec } from '#operations/resolve.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';
import { webhookApp } from '../app.ts';

const configuration = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const VALIDATING = 'ValidatingWebhookConfiguration';
const MUTATING = 'MutatingWebhookConfiguration';
const HOOKS = {
  [VALIDATING]: configuration(VALIDATING, 'validatingwebhookconfigurations'),
  [MUTATING]: configuration(MUTATING, 'mutatingwebhookconfigurations'),
};
const shippedSchema = z.looseObject({
  kind: z.enum([VALIDATING, MUTATING]),
  webhooks: z.array(z.looseObject({ clientConfig: z.object({ service: z.object({ path: z.string() }) }) })),
});
const fileText = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

type Account = 'alice' | 'controller' | 'bob' | 'carol';
const clusters = (...verbs: string[]) => ({
  apiGroups: ['ecs.yun.com'],
  resources: ['kubernetesclusters', 'kubernetesclusters/status'],
  verbs,
});
/** Bob may only change clusters; Carol may also use their own Secrets; Alice may also read Secrets and some files. */
const RULES: Readonly<Record<Account, object[]>> = {
  alice: [
    clusters('*'),
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: ['addons'] },
    {
      apiGroups: ['ecs.yun.com'],
      resources: ['kubernetesclusters/kubeconfig'],
      verbs: ['get'],
      resourceNames: ['filed'],
    },
  ],
  controller: [clusters('*')],
  bob: [clusters('get', 'create', 'update', 'patch')],
  carol: [
    clusters('*'),
    { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters/credentials'], verbs: ['use'] },
  ],
};

/** The webhook with its manifests, called by a real API server: for tests. */
export interface WebhookWorld {
  /** A client of a cluster administrator. */
  admin: Client;
  app: FastifyInstance;
  /** The limits of the site; tests may change them. */
  limits: { now: LimitsRead };
  offer: { versions: string[]; hooks: boolean };
  clients: Readonly<Record<Account, Client>>;
  /** Creates a cluster as the controller leaves it after a creation. */
  created(name: string, spec: Spec): Promise<void>;
  /** Returns the full name of an account. */
  user(name: Account): string;
  stop(): Promise<void>;
}

/**
 * Starts a separate API server: on the shared one, other tests' controllers would take up clusters that are created here.
 */
export async function webhookWorld(namespace: string): Promise<WebhookWorld> {
  const apiServer = await startApiServer({ controllerManager: true });
  const endpoint = await loadEndpoint({ kubeconfig: apiServer.kubeconfigPath });
  const admin = createClient(endpoint, { userAgent: 'matryoshka-test' });
  const user = (name: string) => `system:serviceaccount:${namespace}:${name}`;
  const offer = { versions: ['v1.34.4'], hooks: true };
  await installCrds(admin);
  await admin.create(NAMESPACES, { metadata: { name: namespace } });

  async function clientOf(name: Account): Promise<Client> {
    const account = { namespace, name };
    await makeRole(admin, ROLES, account, RULES[name]);
    await admin.create(SERVICE_ACCOUNTS, { metadata: account });
    await bindRole(admin, account, { kind: 'Role', name }, account);
    return clientWith(endpoint, await tokenOf(admin, account), name);
  }
  const clients = {
    alice: await clientOf('alice'),
    controller: await clientOf('controller'),
    bob: await clientOf('bob'),
    carol: await clientOf('carol'),
  };

  // The webhook's own account, with the permissions of its manifest.
  await shipRights(admin, ['21-webhook-rbac'], { id: namespace, namespace, reportsNamespace: namespace });
  const account = { namespace, name: `matryoshka-webhook-${namespace}` };
  const served = { kind: 'ClusterRole', name: `${account.name}-served-namespace` } as const;
  await bindRole(admin, { namespace, name: 'webhook-served' }, served, account);
  const own = clientWith(endpoint, await tokenOf(admin, account), 'webhook');

  const { ca, cert, key } = await createServerCertificates();
  const limits: WebhookWorld['limits'] = { now: parseLimits(undefined) };
  const app = await webhookApp({
    log: createLogger('error'),
    offer,
    controllerUser: user('controller'),
    serverUser: user('server'),
    hostsOf: (cluster) => hostRecordsOf(own, namespace, cluster),
    limits: () => limits.now,
    clustersIn: (of) => clustersOf(own, of),
    access: accessBy({ client: own, clock: systemClock, log: createLogger('error'), audiences: [] }),
    tls: { cert, key },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  // The shipped manifests, except for the address and for the selection of this namespace alone.
  const text = fileText('deploy/manifests/40-webhook.yaml').replaceAll(
    'system:serviceaccount:matryoshka-system:matryoshka-controller',
    user('controller'),
  );
  for (const document of parseAllDocuments(text)) {
    const shipped = shippedSchema.parse(document.toJS());
    const [hook] = shipped.webhooks;
    if (!hook) throw new Error(`${shipped.kind} without a webhook`);
    await admin.create(HOOKS[shipped.kind], {
      ...shipped,
      metadata: { name: `matryoshka-${namespace}` },
      webhooks: [
        {
          ...hook,
          clientConfig: {
            url: `${url}${hook.clientConfig.service.path}`,
            caBundle: Buffer.from(ca).toString('base64'),
          },
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        },
      ],
    });
  }
  return {
    admin,
    app,
    limits,
    offer,
    clients,
    user,
    async created(name, spec) {
      const marked = creationAnnotations(`id-${name}`, resolveSpec(spec, offer, undefined));
      const made: KubernetesCluster = { metadata: { namespace, name, annotations: marked }, spec };
      await clients.controller.create(KUBERNETES_CLUSTERS, made);
      await keepHosts(admin, namespace, `id-${name}`, made);
    },
    async stop() {
      await Promise.all([...Object.values(clients), own, admin].map((client) => client.close()));
      await app.close();
      await apiServer.stop();
    },
  };
}
