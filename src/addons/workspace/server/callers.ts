import type { Metadata } from '@grpc/grpc-js';
import type { Access } from '#access/access.ts';
import type { Permission, User } from '#access/permissions.ts';
import type { ObjectKey } from '#api/meta.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import { ttlCache } from '#base/ttl-cache.ts';
import { WORKSPACES } from '../api.ts';
import { CallError } from './call-error.ts';

/** Who calls, and what he may do with Workspaces by himself: the server does nothing for him that he may not. */
export interface Callers {
  /** The person behind the bearer token of a call's metadata. Rejects with CallError UNAUTHENTICATED. */
  personOf(metadata: Metadata): Promise<User>;
  /** Rejects with CallError PERMISSION_DENIED, in the same words whether or not the Workspace exists. */
  allow(person: User, verb: Permission['verb'], key: ObjectKey): Promise<void>;
}

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** A right that is withdrawn holds so long: many calls of one person at once ask for it once. What is refused is asked anew. */
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
      // A creation has no name yet, as the API server sees it.
      const which = verb === 'create' ? {} : { name };
      const permission = { verb, group, resource, namespace, ...which };
      await granted.get(canonicalJson([person, permission]), async () => {
        const refusal = await access.refusal(person, permission);
        if (refusal !== undefined) throw new CallError('PERMISSION_DENIED', refusal);
      });
    },
  };
}
