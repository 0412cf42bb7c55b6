import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey, OwnerReference } from '#api/meta.ts';
import { credentialsSecretName } from '#api/names.ts';
import { markOf, ownershipOf } from '#api/own-secret.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists } from '#runtime/wire/api-error.ts';
import { apiVersionOf } from '#runtime/wire/resource-path.ts';
import { conflict } from '../http/errors.ts';

/** Credentials for a cluster's hosts. */
export interface Credentials {
  username: string;
  privateKey: string;
}

function ownerOf({ metadata }: KubernetesCluster): OwnerReference {
  const { name = '', uid = '' } = metadata;
  return { apiVersion: apiVersionOf(KUBERNETES_CLUSTERS), kind: KUBERNETES_CLUSTERS.kind, name, uid };
}

const takenReason = (name: string): string =>
  `a Secret "${name}" is there already; delete it, or name it in credentialsSecret instead of privateSSHKey`;

/** Whether a Secret belongs neither to this cluster nor to a former one of its name; such a one is never replaced. */
const isForeign = (secret: Secret, cluster: string): boolean =>
  ownershipOf(secret, { name: cluster }, 'credentials') === 'foreign';

/** The reason why a key from a request cannot be stored for the cluster of that name; undefined when it can. */
export async function takenSecret(
  client: Client,
  { namespace, name: cluster }: ObjectKey,
): Promise<string | undefined> {
  const name = credentialsSecretName(cluster);
  const found = await client.find<Secret>(SECRETS, { namespace, name });
  return found && isForeign(found, cluster) ? takenReason(name) : undefined;
}

/**
 * Keeps the key that came by REST in the cluster's Secret, owned by the cluster, so that both go together. A Secret of
 * that name that somebody else made is never overwritten: throws HttpError 409.
 */
export async function keepCredentials(
  client: Client,
  cluster: KubernetesCluster,
  { username, privateKey }: Credentials,
): Promise<void> {
  const { namespace = '' } = cluster.metadata;
  const owner = ownerOf(cluster);
  const name = credentialsSecretName(owner.name);
  const secret: Secret = {
    metadata: {
      namespace,
      name,
      labels: markOf('credentials'),
      ownerReferences: [owner],
    },
    type: 'Opaque',
    data: secretData({ username, 'ssh-privatekey': privateKey }),
  };
  try {
    await client.create(SECRETS, secret);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get<Secret>(SECRETS, { namespace, name });
    if (isForeign(found, owner.name)) throw conflict(takenReason(name));
    const { uid, resourceVersion } = found.metadata;
    await client.update(SECRETS, {
      ...secret,
      metadata: { ...secret.metadata, ...(uid && resourceVersion ? { uid, resourceVersion } : {}) },
    });
  }
}
