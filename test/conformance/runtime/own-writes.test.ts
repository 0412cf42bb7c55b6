import { describe, expect, it } from 'vitest';
import { type Fault, refusal, type SeenRequest } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, type ConfigMap, SECRETS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { DONE, type Keeper, kept, type Secret, startKeeper } from './keeper.ts';
import { useProxy } from './world.ts';

const test = useNamespace('own-writes');
const world = useProxy(test);
const { namespace, key } = test;

const make = (name: string, wanted: string) => test.client.create(CONFIG_MAPS, kept(key(name), wanted));
const want = (name: string, wanted: string) =>
  test.client.patch<ConfigMap>(CONFIG_MAPS, key(name), { data: { wanted } }, { type: 'merge' });
const writes = () => world.proxy.count(({ method }) => method !== 'GET');
const to = (plural: string, name = '') => `/api/v1/namespaces/${namespace}/${plural}${name && `/${name}`}`;
const isTo = (request: SeenRequest, method: string, path: string) =>
  request.method === method && request.path === path;

/** Reconciles each key twice more; a second start proves that the first has ended. Expects no write. */
async function expectRest(keeper: Keeper, names: readonly string[]) {
  const before = writes();
  for (const _ of [1, 2]) {
    for (const name of names) {
      const begins = keeper.next(name);
      keeper.controller.enqueue(key(name));
      await begins;
    }
  }
  expect(writes()).toBe(before);
  expect(keeper.collisions).toEqual([]);
}

describe('a cache that lags behind our own writes (row 2)', () => {
  it('holds their key back until it has seen them, and no other key', async () => {
    const { proxy } = world;
    await using keeper = await startKeeper({ client: world.client(), namespace, workers: 1 });
    // From now on no event about Secrets arrives: the watch reconnects and stays silent.
    const released = Promise.withResolvers<void>();
    const deaf = ({ path, watch }: SeenRequest) => watch && path === to('secrets');
    proxy.setRules((request) => (deaf(request) ? { kind: 'hold', until: released.promise } : undefined));
    const since = proxy.requests.length;
    proxy.reset();
    await proxy.seen((request) => deaf(request) && proxy.requests.indexOf(request) >= since);
    const begins = [keeper.next('held'), keeper.next('other')];
    await make('held', 'one');
    await begins[0];
    await proxy.seen((request) => isTo(request, 'PUT', to('configmaps', 'held')));
    await want('held', 'two');
    await want('held', 'three');
    // Its event comes later on the same watch, so a cache that has it also has the earlier writes.
    await make('other', 'x');
    await begins[1];
    expect(keeper.begun).toEqual(['held', 'other']);
    released.resolve();
    await keeper.settled(['held'], 'three');
    await keeper.settled(['other'], 'x');
    expect(proxy.count((request) => isTo(request, 'POST', to('secrets')))).toBe(2);
    await expectRest(keeper, ['held', 'other']);
  });
});

describe('a write whose answer was lost (row 7)', () => {
  const ways: [string, string, Fault][] = [
    ['the connection breaks', 'reset', { kind: 'lose-answer' }],
    ['500', 'failed', { kind: 'lose-answer', instead: refusal(500) }],
    [
      '503 with Retry-After',
      'busy',
      { kind: 'lose-answer', instead: refusal(503, { retryAfterSeconds: 1 }) },
    ],
    ['504', 'late', { kind: 'lose-answer', instead: refusal(504) }],
  ];
  it.each(ways)('is found again by its name, and made once: %s', async (_how, name, fault) => {
    const { proxy } = world;
    await using keeper = await startKeeper({ client: world.client(), namespace });
    // The lost responses: the first creation, the first change of the map, and the first change of the Secret.
    const lost = new Set<string>();
    proxy.setRules(({ method, path }) => {
      const write = `${method} ${path}`;
      if (method === 'GET' || lost.has(write)) return undefined;
      lost.add(write);
      return fault;
    });
    await make(name, 'one');
    await keeper.settled([name], 'one');
    const { uid } = (await test.client.get<Secret>(SECRETS, key(name))).metadata;
    await want(name, 'two');
    await keeper.settled([name], 'two');
    expect([...lost].sort()).toEqual([
      `POST ${to('secrets')}`,
      `PUT ${to('configmaps', name)}`,
      `PUT ${to('secrets', name)}`,
    ]);
    expect((await test.client.get<Secret>(SECRETS, key(name))).metadata.uid).toBe(uid);
    await expectRest(keeper, [name]);
  });
});

describe('a write that conflicts with another (row 9)', () => {
  it('is refused, computed again from the current object, and keeps fields of the other', async () => {
    const { proxy } = world;
    await using keeper = await startKeeper({ client: world.client(), namespace });
    const theirs = { metadata: { annotations: { 'example.com/theirs': 'kept' } }, data: { theirs: 'kept' } };
    const other = (resource: typeof CONFIG_MAPS, data: object) => async () =>
      test.client.patch(resource, key('met'), { ...theirs, ...data }, { type: 'merge' });
    const met: string[] = [];
    proxy.setRules((request) => {
      const write = `${request.method} ${request.path}`;
      if (request.method !== 'PUT' || met.includes(write)) return undefined;
      met.push(write);
      const interfere = request.path.includes('secrets')
        ? other(SECRETS, { data: { theirs: 'a2VwdA==' } })
        : other(CONFIG_MAPS, {});
      return { kind: 'wait', until: interfere() };
    });
    await make('met', 'one');
    await keeper.settled(['met'], 'one');
    await want('met', 'two');
    await keeper.settled(['met'], 'two');
    expect(met.sort()).toEqual([`PUT ${to('configmaps', 'met')}`, `PUT ${to('secrets', 'met')}`]);
    const map = await test.client.get<ConfigMap>(CONFIG_MAPS, key('met'));
    expect(map).toMatchObject({
      metadata: { annotations: { 'example.com/theirs': 'kept', [DONE]: 'two' } },
      data: { theirs: 'kept', wanted: 'two' },
    });
    const secret = await test.client.get<Secret>(SECRETS, key('met'));
    expect(secret).toMatchObject({
      metadata: { annotations: { 'example.com/theirs': 'kept' } },
      data: { theirs: 'a2VwdA==' },
    });
    await expectRest(keeper, ['met']);
  });
});
