import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import type { KubeObject, Resource } from '#api/meta.ts';
import { SERVICE_ACCOUNTS } from '#lab/apiserver/kinds.ts';
import type { Client } from '#runtime/client/client.ts';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from './accounts.ts';

const policy = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});
const KINDS = [
  SERVICE_ACCOUNTS,
  ROLES,
  ROLE_BINDINGS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  policy('ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  policy('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings'),
];

const MANIFESTS = new URL('../../../deploy/manifests/', import.meta.url);

/**
 * Gives accounts exactly the permissions of some manifests (`20-server-rbac`): a test cannot do what the manifests do not
 * allow. Names of accounts and of ClusterRoles end in `-<id>`, since tests share nothing.
 */
export async function shipRights(
  admin: Client,
  manifests: readonly string[],
  { id, namespace, reportsNamespace }: { id: string; namespace: string; reportsNamespace: string },
): Promise<void> {
  const text = manifests
    .map((name) => readFileSync(new URL(`${name}.yaml`, MANIFESTS), 'utf8'))
    .join('---\n')
    .replaceAll('matryoshka-system', namespace)
    .replaceAll('matryoshka-reports', reportsNamespace)
    .replaceAll(/ame: matryoshka-(server|webhook|user|token-secrets)/g, `ame: matryoshka-$1-${id}`);
  for (const document of parseAllDocuments(text)) {
    const object: KubeObject = document.toJS();
    const resource = KINDS.find(({ kind }) => kind === object.kind);
    if (!resource) throw new Error(`unexpected kind ${object.kind}`);
    await admin.create(resource, object);
  }
}
