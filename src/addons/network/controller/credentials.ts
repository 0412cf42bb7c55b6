import { SECRETS, type Secret, secretText } from '#api/core.ts';
import { credentialsSecretName } from '#api/names.ts';
import { sshLoginIn } from '#api/ssh-login.ts';
import type { Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import type { Network, NetworkHost } from '../api.ts';
import type { Place } from '../bridges/provider.ts';

/** Credentials for the hosts of a Network, from its Secret (docs/reference/credentials.md). */
export type Credentials = Pick<Place, 'user' | 'privateKey' | 'password' | 'knownHosts'>;

export interface Lack {
  reason: 'CredentialsMissing' | 'NamespaceNotServed';
  message: string;
}

/** Credentials that were read last, kept while the Network exists. */
export interface CredentialStore {
  /**
   * Returns the present credentials. For a deleted Network, whose Secret may be deleted first, the last good ones suffice.
   */
  of(client: Client, network: Network): Promise<Credentials | Lack>;
}

export const isLack = (one: Credentials | Lack): one is Lack => 'reason' in one;

async function read(client: Client, { metadata, spec }: Network): Promise<Credentials | Lack> {
  const { namespace = '', name = '' } = metadata;
  const secret = spec.credentialsSecret ?? credentialsSecretName(name);
  const lack = (message: string): Lack => ({ reason: 'CredentialsMissing', message });
  try {
    const found = await client.find<Secret>(SECRETS, { namespace, name: secret });
    if (!found) return lack(`there is no Secret "${secret}" in namespace "${namespace}"`);
    const login = sshLoginIn(found);
    if ('reason' in login) return lack(`Secret "${secret}": ${login.reason}`);
    const { username: user, privateKey, password } = login;
    if (!privateKey && !password) return lack(`Secret "${secret}" has neither ssh-privatekey nor password`);
    return {
      user,
      ...(privateKey ? { privateKey } : {}),
      ...(password ? { password } : {}),
      knownHosts: secretText(found, 'known_hosts') ?? '',
    };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const message = `the controller may not get Secret "${secret}" in namespace "${namespace}": bind ClusterRole matryoshka-network-served-namespace there`;
    return { reason: 'NamespaceNotServed', message };
  }
}

export function createCredentialStore(networks: Pick<Informer<Network>, 'addHandler'>): CredentialStore {
  const good = new Map<string, Credentials>();
  // Also covers a Network that disappeared without us, because a user removed its finalizer.
  networks.addHandler({ delete: ({ metadata: { uid = '' } }) => void good.delete(uid) });
  return {
    async of(client, network) {
      const { uid = '', deletionTimestamp } = network.metadata;
      const now = await read(client, network);
      if (isLack(now)) return (deletionTimestamp && good.get(uid)) || now;
      good.set(uid, now);
      return now;
    },
  };
}

/** Returns address and credentials of a recorded host. */
export function placeOf({ ip, port = 22, user, hostKey }: NetworkHost, credentials: Credentials): Place {
  return { ...credentials, ip, port, user: user ?? credentials.user, pinned: hostKey };
}
