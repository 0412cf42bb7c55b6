import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { clientOver } from '#runtime/client/client.ts';
import { reviewsBy } from './reviews.ts';

/** Returns reviews with this answer to every TokenReview. */
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

it('rejects a token if the review does not confirm its audience', async () => {
  const ask = (status: object) => answering(status).userOf('t', ['callback']);
  expect(await ask({ authenticated: true, user, audiences: ['callback'] })).toMatchObject(user);
  // The answer of an API server that does not support audiences.
  expect(await ask({ authenticated: true, user })).toBeUndefined();
  expect(await ask({ authenticated: true, user, audiences: ['other'] })).toBeUndefined();
  expect(await ask({ authenticated: true, user: { ...user, username: '' }, audiences: ['callback'] })).toBe(
    undefined,
  );
});

it('reviews at most 200 tokens at once, and refuses more until one is answered', async () => {
  const answers: ((value: unknown) => void)[] = [];
  const reviews = reviewsBy(
    clientOver({
      call: () => new Promise((resolve) => answers.push(resolve)),
      stream: () => Promise.reject(new Error('no streams')),
      close: async () => {},
    }),
    createLogger('silent'),
  );
  const asked = Array.from({ length: 200 }, (_, index) => reviews.userOf(`t${index}`));
  await expect(reviews.userOf('one more')).rejects.toThrow(/too many tokens .* try again later/);
  answers[0]?.({ status: { authenticated: false } });
  expect(await asked[0]).toBeUndefined();
  const another = reviews.userOf('another');
  for (const answer of answers) answer({ status: { authenticated: true, user } });
  expect(await another).toMatchObject(user);
});
