import { type ConfigMap, SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { AUTHORITY_SECRET, SERVER_CERTIFICATE_SECRET } from '#api/names.ts';
import { sleep } from '#base/clock.ts';
import {
  createAuthority,
  createServerCertificate,
  type KeyPair,
  stillServes,
} from '#certificates/certificates.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { fillIn, type Manifest, resourceOf } from './manifests.ts';
import { deploymentsReady } from './rollout.ts';

const NAMESPACE = 'matryoshka-system';
const FIELD_MANAGER = 'matryoshka-bootstrap';
const LOOK_MS = 500;

export interface Installation {
  manifests: readonly Manifest[];
  images: Readonly<Record<string, string>>;
  /** Where people reach the server from outside. */
  address: string;
  site: Readonly<Record<string, string>>;
  servedNamespaces: readonly string[];
}

/** Puts the operator into a cluster; what is there already and equal is left as it is. Answers the CA's PEM. */
export async function install(
  client: Client,
  wanted: Installation,
  print: (line: string) => void,
): Promise<string> {
  const apply = (object: KubeObject) => applyPatiently(client, object);
  const objects = wanted.manifests;
  const [namespaces, others] = [
    objects.filter(({ kind }) => kind === 'Namespace'),
    objects.filter(({ kind }) => kind !== 'Namespace'),
  ];
  for (const namespace of fillIn(namespaces, { images: {}, caBundle: '' })) await apply(namespace);
  const authority = await certificates(client, wanted.address);
  await apply(configMap('matryoshka-ca', { 'ca.crt': authority.cert }));
  await apply(configMap('matryoshka-site', wanted.site));
  for (const object of fillIn(others, { images: wanted.images, caBundle: authority.cert }))
    await apply(object);
  for (const namespace of wanted.servedNamespaces)
    for (const object of servedNamespace(namespace)) await apply(object);
  print('manifests applied; waiting for the deployments');
  await deploymentsReady(
    client,
    NAMESPACE,
    others.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => metadata.name),
    print,
  );
  return authority.cert;
}

const configMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: NAMESPACE, name },
  data,
});

/** What is not there yet (a CRD's kind, a webhook's pod) or briefly forbidden (RBAC caches) is tried again. */
async function applyPatiently(client: Client, object: KubeObject): Promise<void> {
  const resource: Resource = resourceOf(object);
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      await client.apply(resource, object, { fieldManager: FIELD_MANAGER, force: true });
      return;
    } catch (error) {
      const passing = isApiError(
        error,
        'NotFound',
        'Forbidden',
        'InternalError',
        'ServiceUnavailable',
        'Connection',
      );
      if (!passing || performance.now() > until) throw error;
      await sleep(LOOK_MS);
    }
  }
}

/** The authority and the server's certificate: kept while they serve, made anew when they near their end. */
async function certificates(client: Client, address: string): Promise<KeyPair> {
  const find = async (name: string): Promise<KeyPair | undefined> => {
    const secret = await client.find<Secret>(SECRETS, { namespace: NAMESPACE, name });
    const [cert, key] = [secretText(secret, 'tls.crt'), secretText(secret, 'tls.key')];
    return cert !== undefined && key !== undefined ? { cert, key } : undefined;
  };
  const save = async (name: string, { cert, key }: KeyPair): Promise<void> => {
    const secret: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: NAMESPACE, name },
      type: 'kubernetes.io/tls',
      data: secretData({ 'tls.crt': cert, 'tls.key': key }),
    };
    await client.apply(SECRETS, secret, { fieldManager: FIELD_MANAGER, force: true });
  };
  const services = ['matryoshka-server', 'matryoshka-webhook'].flatMap((name) => [
    name,
    `${name}.${NAMESPACE}`,
    `${name}.${NAMESPACE}.svc`,
  ]);
  const found = await find(AUTHORITY_SECRET);
  const authority = found && stillServes(found.cert, []) ? found : await createAuthority();
  if (authority !== found) await save(AUTHORITY_SECRET, authority);
  const server = await find(SERVER_CERTIFICATE_SECRET);
  if (!server || authority !== found || !stillServes(server.cert, [...services, address])) {
    await save(SERVER_CERTIFICATE_SECRET, await createServerCertificate(authority, services, [address]));
  }
  return authority;
}

/** The rights of controller and server in a namespace in which clusters may be made. */
export function servedNamespace(namespace: string): KubeObject[] {
  const binding = (name: string, role: string, account: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: NAMESPACE }],
  });
  return [
    binding('matryoshka-controller', 'matryoshka-served-namespace', 'matryoshka-controller'),
    binding('matryoshka-server', 'matryoshka-server-served-namespace', 'matryoshka-server'),
  ];
}
