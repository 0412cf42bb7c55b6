import type { Metadata } from '@grpc/grpc-js';
import type { Access } from '#access/access.ts';
import type { Permission, User } from '#access/permissions.ts';
import type { ObjectKey } from '#api/meta.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import { ttlCache } from '#base/ttl-cache.ts';
import { WORKSPACES } from '../api.ts';
import { CallError } from './call-error.ts';

/** Authenticates callers and checks their own rights to Workspaces: the server does nothing that the caller may not do. */
export interface Callers {
  /** Returns the user of the bearer token in a call's metadata. Rejects with CallError UNAUTHENTICATED. */
  personOf(metadata: Metadata): Promise<User>;
  /**
   * Checks a permission. Rejects with CallError PERMISSION_DENIED; the message does not reveal whether the Workspace exists.
   */
  allow(person: User, verb: Permission['verb'], key: ObjectKey): Promise<void>;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * Time for which a granted permission is cached, so that many calls of one user ask once. A refusal is never cached. A
 * withdrawn permission stays valid for this time.
 */
const REMEMBER_MS = 2_000;
const REMEMBERED = 1_000;

export function callersBy(access: Access, clock: Clock): Callers {
  const granted = ttlCache<void>({ clock, forMs: REMEMBER_MS, size: REMEMBERED });
  return {
    async personOf(metadata) {
      const given = metadata.get('authorization');
      const [header] = given;
      const token = typeof header === 'string' ? BEARER.exec(header)?.[1] : undefined;
      if (given.length !== 1 || token === undefined)
        throw new CallError('UNAUTHENTICATED', 'one bearer token is required: "authorization: Bearer …"');
      const person = await access.personOf(token);
      if (!person) throw new CallError('UNAUTHENTICATED', 'the token is not valid here');
      return person;
    },
    async allow(person, verb, { namespace, name }) {
      const { group, plural: resource } = WORKSPACES;
      // For the API server, an object that is being created has no name yet.
      const which = verb === 'create' ? {} : { name };
      const permission = { verb, group, resource, namespace, ...which };
      await granted.get(canonicalJson([person, permission]), async () => {
        const refusal = await access.refusal(person, permission);
        if (refusal !== undefined) throw new CallError('PERMISSION_DENIED', refusal);
      });
    },
  };
}
