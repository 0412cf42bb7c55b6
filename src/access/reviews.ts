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

/** The API server did not answer a review, so no access is granted; the log has the cause. */
export class ReviewFailed extends Error {
  override name = 'ReviewFailed';
}

/** Token and access reviews by the API server. Both methods throw ReviewFailed if it does not answer. */
export interface Reviews {
  /**
   * Returns the owner of a token; undefined if the token is not valid. Without `audiences` the token must be for the API
   * server itself, else for one of them.
   */
  userOf(token: string, audiences?: readonly string[]): Promise<User | undefined>;
  may(user: User, permission: Permission): Promise<boolean>;
}

/** Most tokens that are reviewed at once: a caller with many invalid tokens must not delay all other calls. */
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
      // An API server without support for audiences answers without them; the audience of the token is then unknown.
      const meant = audiences === undefined || status.audiences.some((one) => audiences.includes(one));
      // Later code could take an empty name for the impersonating account, or for no user.
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
