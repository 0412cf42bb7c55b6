import { createHash } from 'node:crypto';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { CALLBACK_AUDIENCE } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { forbidden, unauthorized } from './errors.ts';
import { recent } from './recent.ts';
import type { Deed, Reviews, User } from './reviews.ts';

/** For so long a token that was withdrawn may still be taken. */
const REMEMBER_MS = 10_000;
const REMEMBERED = 1000;

/** Who calls, and whether he may. */
export interface Auth {
  /** The person behind an Authorization header. Throws HttpError 401. */
  personOf(authorization: string | undefined): Promise<User>;
  /** Throws HttpError 403, in the same words whether or not the object exists. */
  allow(person: User, deed: Deed): Promise<void>;
}

/** The token of a Bearer header. Throws HttpError 401. */
export function bearerOf(authorization: string | undefined): string {
  const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw unauthorized('a bearer token is needed: "Authorization: Bearer …"');
  return token;
}

/** A token is never a key of anything that lives on: its hash is. */
export const fingerprintOf = (token: string): string => createHash('sha256').update(token).digest('base64');

export function authBy(
  reviews: Reviews,
  { clock, audiences }: { clock: Clock; audiences: readonly string[] },
): Auth {
  const people = recent<User | undefined>({ clock, forMs: REMEMBER_MS, size: REMEMBERED });
  // The callback's audience opens the callback and nothing else, whatever the settings say.
  const others = audiences.filter((audience) => audience !== CALLBACK_AUDIENCE);
  return {
    async personOf(authorization) {
      const token = bearerOf(authorization);
      const person = await people.get(
        fingerprintOf(token),
        async () =>
          (await reviews.userOf(token)) ??
          (others.length === 0 ? undefined : await reviews.userOf(token, others)),
      );
      if (!person) throw unauthorized('the token is not valid here');
      return person;
    },
    async allow(person, deed) {
      if (await reviews.may(person, deed)) return;
      const { verb, resource, group, namespace, name } = deed;
      const what = [resource, group].filter((part) => part !== '').join('.');
      const which = name === undefined ? what : `${what} "${name}"`;
      const where = namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`;
      throw forbidden(`user "${person.username}" may not ${verb} ${which} ${where}`);
    },
  };
}

/** A deed on a cluster. */
export const onClusters = (
  verb: Deed['verb'],
  namespace: string | undefined,
  name?: string | undefined,
): Deed => ({
  verb,
  group: KUBERNETES_CLUSTERS.group,
  resource: KUBERNETES_CLUSTERS.plural,
  namespace,
  name,
});

/** A deed on a Secret. */
export const onSecrets = (verb: Deed['verb'], namespace: string, name?: string | undefined): Deed => ({
  verb,
  group: '',
  resource: 'secrets',
  namespace,
  name,
});
