import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { createWorkQueue, LOW } from './work-queue.ts';

async function take(queue: ReturnType<typeof createWorkQueue>) {
  return (await queue.get())?.key;
}

it('hands out a key added many times once', async () => {
  const queue = createWorkQueue();
  for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
  expect([await take(queue), await take(queue)]).toEqual(['a', 'b']);
  expect(queue.depth).toBe(0);
});

it('never hands a key to two workers, and hands it out again if it was added meanwhile', async () => {
  const queue = createWorkQueue();
  queue.add('a');
  await take(queue);
  queue.add('a');
  queue.add('a');
  expect(queue.depth).toBe(0);
  queue.done('a');
  expect(queue.depth).toBe(1);
  await take(queue);
  queue.done('a');
  expect(queue.depth).toBe(0);
});

it('counts a key once that is added several times during its work', async () => {
  const reported: string[] = [];
  const observe = {
    added: () => void reported.push('added'),
    done: () => void reported.push('done'),
    ...{ got() {}, retried() {}, depth() {} },
  };
  const queue = createWorkQueue({ observe });
  queue.add('a');
  await take(queue);
  queue.add('a');
  queue.add('a');
  queue.done('a');
  expect(await take(queue)).toBe('a');
  queue.done('a');
  expect(reported).toEqual(['added', 'added', 'done', 'done']);
});

it('wakes a worker that waits', async () => {
  const queue = createWorkQueue();
  const waiting = take(queue);
  queue.add('a');
  expect(await waiting).toBe('a');
});

it('prefers new keys to listed keys, and raises a key that is both', async () => {
  const queue = createWorkQueue();
  for (const key of ['l1', 'l2', 'l3']) queue.add(key, LOW);
  queue.add('n1');
  queue.add('l3');
  queue.add('l3', LOW);
  const order = [];
  while (queue.depth > 0) order.push(await take(queue));
  expect(order).toEqual(['n1', 'l3', 'l1', 'l2']);
});

it('keeps the earliest of several delays', async () => {
  const clock = createManualClock();
  const queue = createWorkQueue({ clock });
  queue.addAfter('a', 1000);
  queue.addAfter('a', 5000);
  queue.addAfter('b', 5000);
  queue.addAfter('b', 1000);
  await clock.advance(999);
  expect(queue.depth).toBe(0);
  await clock.advance(1);
  expect(queue.depth).toBe(2);
  expect(clock.timers).toBe(0);
});

it('doubles a key’s delay from 5 ms to 1000 s, until it is forgotten', () => {
  const queue = createWorkQueue({ clock: createManualClock() });
  const delays = Array.from({ length: 20 }, () => queue.addRateLimited('a'));
  expect(delays.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(delays.at(-1)).toBe(1_000_000);
  expect(queue.addRateLimited('b')).toBe(5);
  queue.forget('a');
  expect(queue.addRateLimited('a')).toBe(5);
});

it('returns nothing after shutdown, and keeps no timer', async () => {
  const clock = createManualClock();
  const queue = createWorkQueue({ clock });
  const waiting = queue.get();
  queue.addAfter('later', 1000);
  queue.shutDown();
  queue.add('a');
  expect(await waiting).toBeUndefined();
  expect(await queue.get()).toBeUndefined();
  expect(clock.timers).toBe(0);
});
