/** Authentication and authorization of users, for the REST API, the webhook and gRPC: the API server decides, by reviews. */

import { createHash } from 'node:crypto';
import { SECRETS, type Secret } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { CALLBACK_AUDIENCE, credentialsSecretName } from '#api/names.ts';
import { ownershipOf } from '#api/own-secret.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { recentMap } from '#base/recent-map.ts';
import type { Client } from '#runtime/client/client.ts';
import { isForbidden } from '#runtime/wire/api-error.ts';
import { onCredentials, onSecrets, type Permission, refusalOf, type User } from './permissions.ts';
import { type Reviews, reviewsBy } from './reviews.ts';

/** Time that a withdrawn token may still be accepted. */
const REMEMBER_MS = 10_000;
const REMEMBERED = 1000;

/**
 * Returns a cached lookup of a token's user. Invalid tokens have a separate cache, so that they do not displace valid ones.
 */
function remembering(clock: Clock, ask: (token: string) => Promise<User | undefined>) {
  const people = recentMap<{ person: User; untilMs: number }>(REMEMBERED);
  const strangers = recentMap<number>(REMEMBERED);
  const asked = new Map<string, Promise<User | undefined>>();

  async function review(token: string, fingerprint: string): Promise<User | undefined> {
    try {
      const person = await ask(token);
      const untilMs = clock.monotonicMs() + REMEMBER_MS;
      if (person) people.set(fingerprint, { person, untilMs });
      else strangers.set(fingerprint, untilMs);
      return person;
    } finally {
      asked.delete(fingerprint);
    }
  }

  return async (token: string): Promise<User | undefined> => {
    const fingerprint = fingerprintOf(token);
    const now = clock.monotonicMs();
    const known = people.get(fingerprint);
    if (known && known.untilMs > now) return known.person;
    if ((strangers.get(fingerprint) ?? 0) > now) return undefined;
    const under = asked.get(fingerprint);
    if (under) return under;
    const answer = review(token, fingerprint);
    asked.set(fingerprint, answer);
    return answer;
  };
}

/** The use of a Secret: a user lets the operator reach a cluster's hosts with it. */
export interface SecretUse {
  namespace: string;
  /** Name of the cluster. */
  cluster: string;
  /** Undefined if the cluster does not exist yet; it then has no own Secret. */
  uid: string | undefined;
  secret: string;
}

/** Authorization for REST and webhook alike. All methods throw ReviewFailed if the API server does not answer. */
export interface Access {
  /** Returns the user of a token; undefined if the token is not valid. Remembered for 10 s. */
  personOf(token: string): Promise<User | undefined>;
  /** Returns why the user may not do it, in a sentence; undefined if allowed. */
  refusal(user: User, permission: Permission): Promise<string | undefined>;
  /**
   * Returns why the user may not let the operator use the Secret; undefined if allowed. Required is the permission to `get`
   * that very Secret. If the operator created the Secret for this very cluster, `use` of the cluster's credentials is
   * enough.
   */
  secretRefusal(user: User, use: SecretUse): Promise<string | undefined>;
}

/** Returns the hash of a token. Caches use it as their key, so that no token stays in memory. */
export const fingerprintOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** Returns the use of the Secret that an operation on this cluster would read. */
export function secretUseOf({ metadata, spec }: KubernetesCluster, namespace: string): SecretUse {
  const { name = '', uid } = metadata;
  return {
    namespace,
    cluster: name,
    uid,
    secret: spec.cluster.credentialsSecret ?? credentialsSecretName(name),
  };
}

export interface AccessDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  /** Audiences of users' tokens, besides the API server's own. */
  audiences: readonly string[];
}

export function accessBy(
  { client, clock, log, audiences }: AccessDeps,
  reviews: Reviews = reviewsBy(client, log),
): Access {
  // A token for callbacks is valid for callbacks only, whatever the settings say.
  const others = audiences.filter((audience) => audience !== CALLBACK_AUDIENCE);

  async function isOwn({ namespace, cluster: name, uid, secret }: SecretUse): Promise<boolean> {
    if (uid === undefined || secret !== credentialsSecretName(name)) return false;
    try {
      const found = await client.find<Secret>(SECRETS, { namespace, name: secret });
      return found !== undefined && ownershipOf(found, { name, uid }, 'credentials') === 'ours';
    } catch (error) {
      if (isForbidden(error)) return false;
      throw error;
    }
  }

  return {
    personOf: remembering(
      clock,
      async (token) =>
        (await reviews.userOf(token)) ??
        (others.length === 0 ? undefined : await reviews.userOf(token, others)),
    ),
    refusal: async (user, permission) =>
      (await reviews.may(user, permission)) ? undefined : refusalOf(user, permission),
    async secretRefusal(user, use) {
      const { namespace, cluster, secret } = use;
      const reading = onSecrets('get', namespace, secret);
      if (await reviews.may(user, reading)) return undefined;
      const using = onCredentials('use', namespace, cluster);
      if ((await reviews.may(user, using)) && (await isOwn(use))) return undefined;
      return refusalOf(user, reading);
    },
  };
}
