import { expect, it } from 'vitest';
import { expiredWatch, type Fault, type Rules, refusal } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { isNotFound } from '#runtime/wire/api-error.ts';
import { kept, type Secret, startKeeper } from './keeper.ts';
import { hurried, seeded, useProxy, versions } from './world.ts';

const test = useNamespace('everything');
const world = useProxy(test);
const { namespace, key } = test;

/** Faults of calls and of watches, each with its probability in percent. */
const CALLS: [number, Fault][] = [
  [5, { kind: 'reset' }],
  [5, { kind: 'lose-answer' }],
  [4, { kind: 'lose-answer', instead: refusal(500) }],
  [4, refusal(500)],
  [3, refusal(429, { retryAfterSeconds: 1 })],
  [3, refusal(409)],
  [15, { kind: 'delay', ms: 20 }],
];
const WATCHES: [number, Fault][] = [
  [15, expiredWatch()],
  [15, { kind: 'truncate', afterBytes: 700 }],
  [10, { kind: 'reset' }],
];

/** Failing watches restart after up to 30 s. So many of them would outlast the test, so timers run faster. */
const HURRY = 15;

/** Ignores NotFound: the object may not exist yet. */
function ignoreAbsent(error: unknown) {
  if (!isNotFound(error)) throw error;
}

function rulesOf(seed: number): Rules {
  const random = seeded(seed);
  return ({ watch, lists }) => {
    if (lists) return undefined;
    let left = random() * 100;
    for (const [share, fault] of watch ? WATCHES : CALLS) {
      if (left < share) return fault;
      left -= share;
    }
    return undefined;
  };
}

it.each([[11], [12], [13]])(
  'all faults at once: no lost event, one worker per key, no needless list, then rest (seed %i)',
  async (seed) => {
    const { proxy } = world;
    const names = Array.from({ length: 15 }, (_, at) => `m${seed}-${at}`);
    await using keeper = await startKeeper({
      client: world.client({ clock: hurried(HURRY) }),
      namespace,
      workers: 4,
      clock: hurried(HURRY),
    });
    const lists = () => proxy.count((request) => request.lists);
    const [listed, expired] = [lists(), { count: 0 }];
    const rules = rulesOf(seed);
    proxy.setRules((request) => {
      const fault = rules(request);
      if (request.watch && fault?.kind === 'answer') expired.count += 1;
      return fault;
    });
    for (const name of names) await test.client.create(CONFIG_MAPS, kept(key(name), 'one'));
    for (const wanted of ['two', 'three']) {
      proxy.reset();
      for (const name of names) {
        const patch = { data: { wanted } };
        await test.client.patch<ConfigMap>(CONFIG_MAPS, key(name), patch, { type: 'merge' });
      }
      // Another client deletes the Secrets that the controller keeps.
      for (const name of names.slice(0, 3)) await test.client.delete(SECRETS, key(name)).catch(ignoreAbsent);
    }
    await keeper.settled(names, 'three', 40_000);
    expect(keeper.collisions).toEqual([]);
    // Without faults the remaining backoffs run out, and then nothing changes.
    proxy.setRules(() => undefined);
    const writes = () => proxy.count(({ method }) => method !== 'GET');
    for (const name of names) {
      for (const _ of [1, 2]) {
        const begins = keeper.next(name);
        keeper.controller.enqueue(key(name));
        await begins;
      }
    }
    await keeper.settled(names, 'three');
    const written = writes();
    for (const name of names) {
      const begins = keeper.next(name);
      keeper.controller.enqueue(key(name));
      await begins;
    }
    expect(writes()).toBe(written);
    const labelSelector = 'kept=yes';
    for (const [resource, informer] of [
      [CONFIG_MAPS, keeper.maps],
      [SECRETS, keeper.secrets],
    ] as const) {
      const { items } = await test.client.list<Secret>(resource, { namespace, labelSelector });
      expect(versions(informer.list())).toEqual(versions(items));
    }
    expect(lists() - listed).toBeLessThanOrEqual(expired.count);
  },
);
