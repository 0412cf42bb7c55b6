import { SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey, OwnerReference } from '#api/meta.ts';
import { credentialsSecretName } from '#api/names.ts';
import { ownershipOf, purposeLabel } from '#api/own-secret.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isConflict, isNotFound } from '#runtime/wire/api-error.ts';
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

/** Whether a Secret belongs neither to this cluster nor to a former one of its name; such a Secret is never replaced. */
const isForeign = (secret: Secret, cluster: string): boolean =>
  ownershipOf(secret, { name: cluster }, 'credentials') === 'foreign';

/** Returns why a key from a request cannot be stored for the cluster of that name; undefined if it can. */
export async function takenSecret(
  client: Client,
  { namespace, name: cluster }: ObjectKey,
): Promise<string | undefined> {
  const name = credentialsSecretName(cluster);
  const found = await client.find<Secret>(SECRETS, { namespace, name });
  return found && isForeign(found, cluster) ? takenReason(name) : undefined;
}

/** Restores what a write replaced, unless the Secret has changed since. Never throws: the caller has an error to answer. */
export type Undo = () => Promise<void>;

interface WriteDeps {
  client: Client;
  log: Logger;
}

/**
 * Stores the key of a REST request in the Secret of the cluster. The cluster owns the Secret, so both are deleted together.
 * Throws HttpError 409 if the Secret of that name belongs to something else.
 */
export async function keepCredentials(
  deps: WriteDeps,
  cluster: KubernetesCluster,
  { username, privateKey }: Credentials,
): Promise<Undo> {
  const { client } = deps;
  const { namespace = '' } = cluster.metadata;
  const owner = ownerOf(cluster);
  const name = credentialsSecretName(owner.name);
  const secret: Secret = {
    metadata: {
      namespace,
      name,
      labels: purposeLabel('credentials'),
      ownerReferences: [owner],
    },
    type: 'Opaque',
    data: secretData({ username, 'ssh-privatekey': privateKey }),
  };
  try {
    const created = await client.create<Secret>(SECRETS, secret);
    // The server has no permission to delete Secrets. An empty one gives no access, and is removed with the cluster.
    return () => putBack(deps, { ...created, data: {} });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const found = await client.get<Secret>(SECRETS, { namespace, name });
    if (isForeign(found, owner.name)) throw conflict(takenReason(name), 'secret-taken');
    const { uid, resourceVersion } = found.metadata;
    const written = await client.update<Secret>(SECRETS, {
      ...secret,
      metadata: { ...secret.metadata, ...(uid && resourceVersion ? { uid, resourceVersion } : {}) },
    });
    const back = {
      ...found,
      metadata: { ...found.metadata, resourceVersion: written.metadata.resourceVersion ?? '' },
    };
    return () => putBack(deps, back);
  }
}

/** Writes the former Secret back; one that was changed or deleted since stays as it is. */
async function putBack({ client, log }: WriteDeps, secret: Secret): Promise<void> {
  try {
    await client.update<Secret>(SECRETS, secret);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return;
    const { namespace, name } = secret.metadata;
    log.warn(
      { namespace, name, error: messageOf(error) },
      'the key of a refused request stays in its Secret',
    );
  }
}
