import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '#runtime/client.ts';
import { HttpError } from './errors.ts';

/** Who someone is, as the API server says: what SubjectAccessReview wants to know. */
export interface User {
  username: string;
  uid?: string | undefined;
  groups: string[];
  extra: Record<string, string[]>;
}

const userSchema = z.object({
  username: z.string().default(''),
  uid: z.string().optional(),
  groups: z.array(z.string()).default([]),
  extra: z.record(z.string(), z.array(z.string())).default({}),
});
const tokenAnswer = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    user: userSchema.optional(),
    audiences: z.array(z.string()).default([]),
  }),
});
const accessAnswer = z.object({ status: z.object({ allowed: z.boolean() }) });

/** What someone wants to do to something. */
export interface Deed {
  verb: 'get' | 'list' | 'create' | 'update' | 'delete';
  group: string;
  resource: string;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** The API server's word on who may do what. */
export interface Reviews {
  /**
   * Whose token it is; undefined when it is nobody's. Without `audiences` it must be meant for the API server itself,
   * else for one of them.
   */
  userOf(token: string, audiences?: readonly string[]): Promise<User | undefined>;
  may(user: User, deed: Deed): Promise<boolean>;
}

export function reviewsBy(client: Client, log: Logger): Reviews {
  async function review(path: string, kind: string, group: string, spec: unknown): Promise<unknown> {
    try {
      return await client.request('POST', path, { apiVersion: `${group}/v1`, kind, spec });
    } catch (error) {
      log.error({ error: messageOf(error), kind }, 'a review failed');
      throw new HttpError(503, 'who you are and what you may do cannot be asked now; try again later');
    }
  }

  return {
    async userOf(token, audiences) {
      const group = 'authentication.k8s.io';
      const spec = { token, ...(audiences === undefined ? {} : { audiences }) };
      const { status } = tokenAnswer.parse(
        await review(`/apis/${group}/v1/tokenreviews`, 'TokenReview', group, spec),
      );
      // An API server that knows no audiences answers without; then nothing says whom the token is for.
      const meant = audiences === undefined || status.audiences.some((one) => audiences.includes(one));
      // An empty name would be taken for the impersonator himself, or for nobody, further on.
      if (!status.authenticated || !meant || !status.user || status.user.username === '') return undefined;
      return status.user;
    },
    async may({ username, uid, groups, extra }, { verb, group, resource, namespace, name }) {
      const domain = 'authorization.k8s.io';
      const resourceAttributes = { verb, group, resource, namespace, name };
      const spec = { user: username, uid, groups, extra, resourceAttributes };
      const path = `/apis/${domain}/v1/subjectaccessreviews`;
      return accessAnswer.parse(await review(path, 'SubjectAccessReview', domain, spec)).status.allowed;
    },
  };
}
