import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '#runtime/client/client.ts';
import { accessBy } from './access.ts';

const client = clientOver({
  call: () => Promise.reject(new Error('nothing is asked here')),
  stream: () => Promise.reject(new Error('no streams')),
  close: async () => {},
});

/** Returns an access whose reviews accept one token, and how often each token was reviewed. */
function reviewed() {
  const clock = createManualClock();
  const times = new Map<string, number>();
  const { personOf } = accessBy(
    { client, clock, log: createLogger('silent'), audiences: [] },
    {
      async userOf(token) {
        times.set(token, (times.get(token) ?? 0) + 1);
        return token === 'good' ? { username: 'alice', groups: [], extra: {} } : undefined;
      },
      may: async () => false,
    },
  );
  return { clock, times, personOf };
}

it('reviews an invalid token once in ten seconds', async () => {
  const { clock, times, personOf } = reviewed();
  expect(await Promise.all([personOf('junk'), personOf('junk')])).toEqual([undefined, undefined]);
  expect(await personOf('junk')).toBeUndefined();
  expect(times.get('junk')).toBe(1);
  await clock.advance(10_000);
  await personOf('junk');
  expect(times.get('junk')).toBe(2);
});

it('keeps a valid token in the cache after thousands of invalid ones', async () => {
  const { times, personOf } = reviewed();
  expect(await personOf('good')).toMatchObject({ username: 'alice' });
  for (let made = 0; made < 5_000; made += 1) await personOf(`junk${made}`);
  expect(await personOf('good')).toMatchObject({ username: 'alice' });
  expect(times.get('good')).toBe(1);
});
