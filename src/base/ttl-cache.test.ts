import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { ttlCache } from './ttl-cache.ts';

it('caches values for a time, never failures, and at most as many as its size', async () => {
  const clock = createManualClock();
  const kept = ttlCache<number>({ clock, forMs: 100, size: 2 });
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return asked;
  };
  expect([await kept.get('a', ask), await kept.get('a', ask)]).toEqual([1, 1]);
  await clock.advance(100);
  expect(await kept.get('a', ask)).toBe(2);
  await expect(kept.get('b', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await kept.get('b', ask)).toBe(3);
  expect(await kept.get('c', ask)).toBe(4);
  expect(await kept.get('a', ask)).toBe(5);
  expect(await kept.get('c', ask)).toBe(4);
});
