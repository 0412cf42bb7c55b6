import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { tokenBucket } from './rate-limit.ts';

it('lets a burst through at once, then the rate', async () => {
  const clock = createManualClock();
  const limit = tokenBucket(10, 2, clock);
  let passed = 0;
  for (let at = 0; at < 5; at += 1) void limit().then(() => (passed += 1));
  await clock.advance(0);
  expect(passed).toBe(2);
  await clock.advance(100);
  expect(passed).toBe(3);
  await clock.advance(200);
  expect(passed).toBe(5);
});

it('removes a waiter on its signal, and gives its place to the next', async () => {
  const clock = createManualClock();
  const limit = tokenBucket(1, 1, clock);
  await limit();
  const abort = new AbortController();
  const waiting = limit(abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  let passed = false;
  void limit().then(() => (passed = true));
  await clock.advance(1000);
  expect(passed).toBe(true);
});
