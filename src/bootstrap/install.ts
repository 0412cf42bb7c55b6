import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { AUTHORITY_SECRET, SERVER_CERTIFICATE_SECRET, WEBHOOK_CERTIFICATE_SECRET } from '#api/names.ts';
import { sleep } from '#base/clock.ts';
import {
  createAuthority,
  createServerCertificate,
  type KeyPair,
  stillServes,
} from '#certificates/certificates.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { admissionAnswers } from './admission.ts';
import { type Manifest, resourceOf } from './manifests.ts';
import { isNamespace, NAMESPACE, objectsOf, type Values } from './objects.ts';
import { deploymentsIn, deploymentsReady } from './rollout.ts';

const FIELD_MANAGER = 'matryoshka-bootstrap';
const CHECK_MS = 500;

export interface Installation extends Omit<Values, 'authority'> {
  manifests: readonly Manifest[];
  /** Addresses of the server for clients outside. */
  addresses: readonly string[];
}

/** Installs the operator into a cluster; equal objects stay unchanged. Returns the CA's PEM. */
export async function install(
  client: Client,
  wanted: Installation,
  print: (line: string) => void,
): Promise<string> {
  for (const namespace of wanted.manifests.filter(isNamespace)) await applyPatiently(client, namespace);
  const { cert: authority } = await certificates(client, wanted.addresses);
  const objects = objectsOf(wanted.manifests, { ...wanted, authority });
  for (const object of objects) await applyPatiently(client, object);
  print('manifests applied; waiting for the deployments');
  await deploymentsReady(client, NAMESPACE, deploymentsIn(wanted.manifests, NAMESPACE), print);
  await admissionAnswers(client);
  return authority;
}

/** Applies an object; retries while its kind or a webhook's pod is missing, or RBAC caches are behind. */
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
      await sleep(CHECK_MS);
    }
  }
}

/** Returns the CA and the certificates of server and webhook: valid ones are kept, those near their end are replaced. */
async function certificates(client: Client, outside: readonly string[]): Promise<KeyPair> {
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
  const found = await find(AUTHORITY_SECRET);
  const authority = found && stillServes(found.cert, []) ? found : await createAuthority();
  if (authority !== found) await save(AUTHORITY_SECRET, authority);
  async function serve(secret: string, service: string, addresses: readonly string[]): Promise<void> {
    const names = [service, `${service}.${NAMESPACE}`, `${service}.${NAMESPACE}.svc`];
    const kept = await find(secret);
    if (kept && authority === found && stillServes(kept.cert, [...names, ...addresses])) return;
    await save(secret, await createServerCertificate(authority, names, addresses));
  }
  await serve(SERVER_CERTIFICATE_SECRET, 'matryoshka-server', outside);
  await serve(WEBHOOK_CERTIFICATE_SECRET, 'matryoshka-webhook', []);
  return authority;
}
