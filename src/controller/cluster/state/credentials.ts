import { keyOf as keyOfCluster } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { credentialsSecretName, knownHostsSecretName } from '#api/names.ts';
import { ownershipOf } from '#api/own-secret.ts';
import { type SshLogin, sshLoginIn } from '#api/ssh-login.ts';
import type { Access } from '#installer/installer.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import { Refusal, secretIsForeign } from '../decide/refusal.ts';
import { mergeKnownHosts } from './known-hosts.ts';
import { loginIn } from './registry-login.ts';

type Credentials = Partial<
  Record<'username' | 'ssh-privatekey' | 'password' | 'known_hosts' | 'registry-login', string | undefined>
>;

/** Validates credentials. Throws Refusal `CredentialsMissing` if there is neither key nor password. */
export function accessFrom({
  username = 'root',
  'ssh-privatekey': privateKey = '',
  password = '',
  known_hosts,
  'registry-login': registryLogin = '',
}: Credentials): Access {
  if (privateKey === '' && password === '') {
    throw new Refusal(
      'CredentialsMissing',
      'there is neither ssh-privatekey nor password to reach the hosts with',
    );
  }
  return {
    username,
    knownHosts: known_hosts ?? '',
    ...(privateKey === '' ? {} : { privateKey }),
    ...(password === '' ? {} : { password }),
    ...(registryLogin === '' ? {} : { registryLogin }),
  };
}

const NO_LOGIN: SshLogin = { username: 'root', privateKey: undefined, password: undefined };

/** Returns the credentials in the cluster's own Secrets now; absent values keep what the cluster state Secret has. */
export async function credentialsOf(client: Client, cluster: KubernetesCluster): Promise<Credentials> {
  const { namespace, name } = keyOfCluster(cluster);
  const deleting = cluster.metadata.deletionTimestamp !== undefined;
  const secretName = cluster.spec.cluster.credentialsSecret ?? credentialsSecretName(name);
  let secret: Secret | undefined;
  try {
    secret = await client.find<Secret>(SECRETS, { namespace, name: secretName });
  } catch (error) {
    if (!isForbidden(error)) throw error;
    // In a namespace that is being deleted, the operator's permissions go before the objects do.
    if (!deleting)
      throw new Refusal('NamespaceNotServed', `the operator may not read Secrets of namespace ${namespace}`);
  }
  if (!secret) {
    // A namespace that is being deleted loses its Secrets first; the cluster state Secret still has the credentials.
    if (deleting) return {};
    throw new Refusal(
      'CredentialsMissing',
      `Secret ${secretName} (spec.cluster.credentialsSecret) is not there`,
    );
  }
  const pinned = await client.find<Secret>(SECRETS, { namespace, name: knownHostsSecretName(name) });
  // The pinned keys of a deleted object still identify the hosts: a restored cluster has the same ones.
  const ours = pinned && ownershipOf(pinned, cluster.metadata, 'access') !== 'foreign';
  if (pinned && !ours && !deleting)
    throw new Refusal('SecretConflict', secretIsForeign(knownHostsSecretName(name)));
  // A value that was removed from the Secret is removed here too, unless a deletion may need it.
  const forgotten = deleting ? undefined : '';
  const login = sshLoginIn(secret);
  // A deletion may still reach the hosts with the credentials in the cluster state Secret.
  if ('reason' in login && !deleting)
    throw new Refusal(
      'CredentialsInvalid',
      `Secret ${secretName} (spec.cluster.credentialsSecret): ${login.reason}`,
    );
  const { username, privateKey, password } = 'reason' in login ? NO_LOGIN : login;
  const isEmpty = privateKey === undefined && password === undefined;
  if (isEmpty && !deleting)
    throw new Refusal(
      'CredentialsMissing',
      `Secret ${secretName} (spec.cluster.credentialsSecret) has neither ssh-privatekey nor password`,
    );
  return {
    username: isEmpty ? undefined : username,
    'ssh-privatekey': privateKey ?? forgotten,
    password: password ?? forgotten,
    known_hosts: mergeKnownHosts(
      secretText(secret, 'known_hosts') ?? '',
      (ours ? secretText(pinned, 'known_hosts') : undefined) ?? '',
    ),
    // No image is pulled for a cluster that is being deleted.
    'registry-login': deleting ? undefined : loginIn(secret, secretName),
  };
}
