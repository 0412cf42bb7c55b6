import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Permission, User } from './permissions.ts';

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

/** The API server could not be asked, so nobody may do anything; the cause is in the log. */
export class ReviewFailed extends Error {
  override name = 'ReviewFailed';
}

/** The API server's word on who may do what. Both throw ReviewFailed when it gives none. */
export interface Reviews {
  /**
   * The owner of a token; undefined when it is nobody's. Without `audiences` it must be meant for the API server
   * itself, else for one of them.
   */
  userOf(token: string, audiences?: readonly string[]): Promise<User | undefined>;
  may(user: User, permission: Permission): Promise<boolean>;
}

/** Tokens that are asked about at once: whoever sends any that come to his mind does not hold up all other calls. */
const MAX_TOKENS = 200;

export function reviewsBy(client: Client, log: Logger): Reviews {
  let tokens = 0;
  async function review(path: string, kind: string, group: string, spec: unknown): Promise<unknown> {
    try {
      return await client.request('POST', path, { apiVersion: `${group}/v1`, kind, spec });
    } catch (error) {
      log.error({ error: messageOf(error), kind }, 'a review failed');
      throw new ReviewFailed(
        'the Kubernetes API does not say who you are and what you may do; try again later',
      );
    }
  }

  return {
    async userOf(token, audiences) {
      const group = 'authentication.k8s.io';
      const spec = { token, ...(audiences === undefined ? {} : { audiences }) };
      if (tokens >= MAX_TOKENS) throw new ReviewFailed('too many tokens are looked at now; try again later');
      tokens += 1;
      const path = `/apis/${group}/v1/tokenreviews`;
      const answer = await review(path, 'TokenReview', group, spec).finally(() => {
        tokens -= 1;
      });
      const { status } = tokenAnswer.parse(answer);
      // An API server that knows no audiences answers without; then nothing says whom the token is for.
      const meant = audiences === undefined || status.audiences.some((one) => audiences.includes(one));
      // An empty name would be taken for the impersonator himself, or for nobody, further on.
      if (!status.authenticated || !meant || !status.user || status.user.username === '') return undefined;
      return status.user;
    },
    async may({ username, uid, groups, extra }, permission) {
      const domain = 'authorization.k8s.io';
      const spec = { user: username, uid, groups, extra, resourceAttributes: permission };
      const path = `/apis/${domain}/v1/subjectaccessreviews`;
      return accessAnswer.parse(await review(path, 'SubjectAccessReview', domain, spec)).status.allowed;
    },
  };
}
