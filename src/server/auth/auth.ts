/**
 * Authenticates callers of the REST API: users by their tokens, Jobs by their pods. Limits callers without a valid token.
 */

import type { Access, SecretUse } from '#access/access.ts';
import type { Permission, User } from '#access/permissions.ts';
import { forbidden, unauthorized } from '../http/errors.ts';

/** Authentication and authorization of users; a refusal is an HttpError. */
export interface Auth {
  /** Returns the user of an Authorization header. Throws HttpError 401. */
  personOf(authorization: string | undefined): Promise<User>;
  /** Throws HttpError 403 with the same text whether or not the object exists. */
  allow(person: User, permission: Permission): Promise<void>;
  /** Whether the user has a permission, for an answer that says less without it. */
  may(person: User, permission: Permission): Promise<boolean>;
  /** Throws HttpError 403 if the user may not let the operator use a Secret. */
  allowSecret(person: User, use: SecretUse): Promise<void>;
}

/** Returns the token of a Bearer header. Throws HttpError 401. */
export function bearerOf(authorization: string | undefined): string {
  const token = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw unauthorized('a bearer token is required: "Authorization: Bearer …"');
  return token;
}

export function authBy(access: Access): Auth {
  const pass = (refusal: string | undefined): void => {
    if (refusal !== undefined) throw forbidden(refusal);
  };
  return {
    async personOf(authorization) {
      const person = await access.personOf(bearerOf(authorization));
      if (!person) throw unauthorized('the token is not valid here');
      return person;
    },
    allow: async (person, permission) => pass(await access.refusal(person, permission)),
    may: async (person, permission) => (await access.refusal(person, permission)) === undefined,
    allowSecret: async (person, use) => pass(await access.secretRefusal(person, use)),
  };
}
