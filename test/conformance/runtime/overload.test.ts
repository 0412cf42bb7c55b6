import { expect, it } from 'vitest';
import { refusal, type SeenRequest } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { kept, startKeeper } from './keeper.ts';
import { useProxy } from './world.ts';

const test = useNamespace('overload');
const world = useProxy(test);
const { namespace, key } = test;

const make = (name: string) => test.client.create(CONFIG_MAPS, kept(key(name), 'x'));
const others = ['a', 'b', 'c', 'd'];

it.each([429, 503] as const)(
  'a %i with Retry-After delays its own key for that time, and no other key (row 8)',
  async (status) => {
    const { proxy } = world;
    const slow = `slow-${status}`;
    const isSlow = ({ method, path }: SeenRequest) =>
      method === 'PUT' && path.endsWith(`/configmaps/${slow}`);
    const tries = () => proxy.requests.filter(isSlow);
    proxy.setRules((request) =>
      isSlow(request) && request.nth === 0 ? refusal(status, { retryAfterSeconds: 2 }) : undefined,
    );
    // With a single worker, a reconcile that waited would delay the others.
    await using keeper = await startKeeper({ client: world.client(), namespace, workers: 1 });
    await make(slow);
    await proxy.seen(isSlow);
    const names = others.map((name) => `${name}-${status}`);
    await Promise.all(names.map(make));
    await keeper.settled(names, 'x');
    expect(tries()).toHaveLength(1);
    await keeper.settled([slow], 'x');
    const [first, second, ...more] = tries().map(({ atMs }) => atMs);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1990);
    expect(more).toEqual([]);
    expect(keeper.collisions).toEqual([]);
  },
);

it('a Retry-After of one second is waited for within the reconcile, which runs once (row 8)', async () => {
  const { proxy } = world;
  const isIt = ({ method, path }: SeenRequest) => method === 'PUT' && path.endsWith('/configmaps/short');
  proxy.setRules((request) =>
    isIt(request) && request.nth === 0 ? refusal(429, { retryAfterSeconds: 1 }) : undefined,
  );
  await using keeper = await startKeeper({ client: world.client(), namespace });
  await make('short');
  await keeper.settled(['short'], 'x');
  const [first, second] = proxy.requests.filter(isIt).map(({ atMs }) => atMs);
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(990);
  expect(proxy.count(({ method, path }) => method === 'POST' && path.endsWith('/secrets'))).toBe(
    keeper.secrets.size,
  );
});

it('a refused watch waits for Retry-After, and continues from its version (row 8)', async () => {
  const { proxy } = world;
  await using keeper = await startKeeper({ client: world.client(), namespace });
  const refused = ({ watch, path }: SeenRequest) => watch && path.endsWith('/configmaps');
  const since = proxy.requests.length;
  const lists = proxy.count((request) => request.lists);
  let left = 1;
  proxy.setRules((request) => {
    if (!refused(request) || left === 0) return undefined;
    left -= 1;
    return refusal(429, { retryAfterSeconds: 2 });
  });
  proxy.reset();
  await make('after');
  await keeper.settled(['after'], 'x');
  const [first, second] = proxy.requests.slice(since).filter(refused);
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1990);
  expect(proxy.count((request) => request.lists)).toBe(lists);
});
