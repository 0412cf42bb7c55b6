import { SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { kubeconfigSecretName } from '#api/names.ts';
import { ownershipOf } from '#api/own-secret.ts';
import { type Access, accessIn } from '#cluster-access/access.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import type { CallOptions } from '#runtime/wire/call.ts';
import type { Blind } from './judge/seen.ts';

/** Reads the credentials in the kubeconfig of this very cluster, or returns why there are none; stores nothing. */
export async function readAccess(
  client: Client,
  cluster: KubernetesCluster,
  options: CallOptions,
): Promise<Access | Blind> {
  const { namespace = '', name: of = '' } = cluster.metadata;
  const name = kubeconfigSecretName(of);
  try {
    const secret = await client.find<Secret>(SECRETS, { namespace, name }, options);
    const text =
      secret && ownershipOf(secret, cluster.metadata, 'access') === 'ours'
        ? secretText(secret, 'value')
        : undefined;
    if (text === undefined)
      return { reason: 'KubeconfigMissing', message: `there is no Secret "${name}" of this cluster` };
    return (
      accessIn(text) ?? {
        reason: 'KubeconfigUnusable',
        message: `Secret "${name}" must hold an authority, and a client certificate with its key or a token, as data; plugins and files are not followed. Delete it, and it is fetched again`,
      }
    );
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const message = `the operator may not read Secrets of namespace ${namespace}`;
    return { reason: 'NamespaceNotServed', message };
  }
}
