import { z } from 'zod';
import type { KubeObject, Resource } from '#api/meta.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import type { Endpoint } from '#runtime/wire/endpoint.ts';

/** Accounts on a real API server, with tokens and permissions: for tests. */
const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
export const ROLES = rbac('Role', 'roles', true);
export const ROLE_BINDINGS = rbac('RoleBinding', 'rolebindings', true);
export const CLUSTER_ROLES = rbac('ClusterRole', 'clusterroles', false);
export const CLUSTER_ROLE_BINDINGS = rbac('ClusterRoleBinding', 'clusterrolebindings', false);

/** Namespace and name of a ServiceAccount. */
export interface Account {
  namespace: string;
  name: string;
}

/** Creates a Role or a ClusterRole with these rules. */
export const makeRole = (
  admin: Client,
  resource: typeof ROLES,
  metadata: KubeObject['metadata'],
  rules: readonly object[],
): Promise<KubeObject> =>
  admin.create(resource, { metadata, rules } satisfies KubeObject & { rules: unknown });

/** Gives an account a role in a namespace, by a binding of that name. */
export const bindRole = (
  admin: Client,
  binding: { namespace: string; name: string },
  role: { kind: 'Role' | 'ClusterRole'; name: string },
  account: Account,
): Promise<KubeObject> =>
  admin.create(ROLE_BINDINGS, {
    metadata: binding,
    roleRef: { apiGroup: ROLES.group, ...role },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  } satisfies KubeObject & { roleRef: unknown; subjects: unknown });

const tokenAnswer = z.object({ status: z.object({ token: z.string() }) });

/** Returns a token of the account; `spec` is that of a TokenRequest. */
export async function tokenOf(
  admin: Client,
  { namespace, name }: Account,
  spec: object = {},
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  return tokenAnswer.parse(await admin.request('POST', path, body)).status.token;
}

/** Returns a client with that token; the caller closes it. */
export const clientWith = (endpoint: Endpoint, token: string, userAgent = 'matryoshka-test'): Client =>
  createClient(
    { ...endpoint, tls: () => endpoint.tls(), headers: () => ({ authorization: `Bearer ${token}` }) },
    { userAgent },
  );
