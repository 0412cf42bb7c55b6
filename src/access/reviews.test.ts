import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { clientOver } from '#runtime/client/client.ts';
import { reviewsBy } from './reviews.ts';

/** What a TokenReview answers, whatever is asked. */
const answering = (status: object) =>
  reviewsBy(
    clientOver({
      call: async () => ({ status }),
      stream: () => Promise.reject(new Error('no streams')),
      close: async () => {},
    }),
    createLogger('silent'),
  );
const user = { username: 'runner', groups: [] };

it('takes nobody for the holder of a token for an audience that the answer does not confirm', async () => {
  const ask = (status: object) => answering(status).userOf('t', ['callback']);
  expect(await ask({ authenticated: true, user, audiences: ['callback'] })).toMatchObject(user);
  // As an API server answers that does not know audiences.
  expect(await ask({ authenticated: true, user })).toBeUndefined();
  expect(await ask({ authenticated: true, user, audiences: ['other'] })).toBeUndefined();
  expect(await ask({ authenticated: true, user: { ...user, username: '' }, audiences: ['callback'] })).toBe(
    undefined,
  );
});
