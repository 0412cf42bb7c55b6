import { expect, it } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { createElection } from '#runtime/leader/leader.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { kept, startKeeper } from './keeper.ts';
import { useProxy, within } from './world.ts';

const test = useNamespace('clock-steps');
const world = useProxy(test);
const { namespace, key } = test;
const DAY_MS = 86_400_000;

it('a wall clock that is set by days moves no timer, ends no watch and costs no leadership (row 22)', async () => {
  const { proxy } = world;
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
  const client = world.client({ clock });
  const election = createElection({
    client,
    lease: key('lease'),
    identity: 'me',
    leaseMs: 2000,
    renewMs: 1500,
    retryMs: 200,
    log: createLogger('silent'),
    clock,
  });
  election.start();
  await election.whenLeading(AbortSignal.timeout(10_000));
  const at: number[] = [];
  const enough = Promise.withResolvers<void>();
  await using _keeper = await startKeeper({
    client,
    namespace,
    clock,
    async instead() {
      at.push(performance.now());
      // A day ahead, a day behind, and so on.
      aheadMs = at.length % 2 === 1 ? DAY_MS : -DAY_MS;
      if (at.length === 8) enough.resolve();
      return { requeueAfterMs: 300 };
    },
  });
  const before = proxy.count((request) => request.lists || request.watch);
  await test.client.create(CONFIG_MAPS, kept(key('one'), 'x'));
  await within(enough.promise, 15_000, 'eight reconciles');
  const gaps = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(295);
  expect([election.isLeading(), election.lost.aborted]).toEqual([true, false]);
  expect(proxy.count((request) => request.lists || request.watch)).toBe(before);
  await election.stop();
});
