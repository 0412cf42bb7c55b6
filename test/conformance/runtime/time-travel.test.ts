import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { expiredWatch, json, type SeenRequest } from '#lab/fault-proxy/faults.ts';
import { CONFIG_MAPS, SECRETS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { kept, startKeeper } from './keeper.ts';
import { eventually, hurried, recordingLog, runInformers, useProxy, versions, within } from './world.ts';

const test = useNamespace('time-travel');
const world = useProxy(test);
const { namespace, key } = test;
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const make = (name: string, wanted: string) => test.client.create(CONFIG_MAPS, kept(key(name), wanted));
const isWatch = (request: SeenRequest) => request.watch && request.path === path;
const isList = (request: SeenRequest) => request.lists && request.path === path;

it('a list from a server that lags does not move a cache back in time (row 3)', async () => {
  const { proxy } = world;
  await make('old', 'x');
  const stale = json(JSON.stringify(await test.client.request('GET', path)));
  await using caches = runInformers();
  const { log, lines } = recordingLog();
  const informer = await caches.start({
    client: world.client(),
    selection: { namespace },
    log,
    watchList: false,
    random: () => 0,
    clock: hurried(10),
  });
  const news: string[] = [];
  await make('new', 'x');
  await test.client.delete(CONFIG_MAPS, key('old'));
  await eventually(informer, 'old went', () => informer.get(key('old')) === undefined);
  informer.addHandler({
    add: ({ metadata }) => news.push(`+${metadata.name}`),
    delete: ({ metadata }) => news.push(`-${metadata.name}`),
  });
  news.length = 0;
  // The resource version has expired, and the first two servers asked are behind; the third is not.
  const since = proxy.requests.length;
  const listsSince = () => proxy.requests.slice(since).filter(isList).length;
  proxy.setRules((request) => {
    if (isWatch(request)) return listsSince() === 0 ? expiredWatch() : undefined;
    return isList(request) && listsSince() <= 2 ? stale : undefined;
  });
  proxy.reset();
  await within(
    proxy.seen((request) => isList(request) && listsSince() === 3),
    15_000,
    'a third list',
  );
  await make('after', 'x');
  await eventually(informer, 'what came later', () => informer.get(key('after')) !== undefined);
  expect(news).toEqual(['+after']);
  expect(lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['error'])).toContainEqual(
    expect.stringMatching(
      /^the list is as of version \d+, older than \d+ that was seen before: asking again/,
    ),
  );
});

it('a delete from an outdated cache conflicts if the object was recreated (row 3)', async () => {
  const { proxy } = world;
  await make('reborn', 'first');
  const stale = json(JSON.stringify(await test.client.request('GET', path)));
  await test.client.delete(CONFIG_MAPS, key('reborn'));
  const second = await make('reborn', 'second');
  const over = Promise.withResolvers<void>();
  // A new process knows only the past that it is shown.
  proxy.setRules((request) => {
    if (isList(request)) return stale;
    return isWatch(request) ? { kind: 'hold', until: over.promise } : undefined;
  });
  await using caches = runInformers();
  const client = world.client();
  const log = createLogger('silent');
  const informer = await caches.start({ client, selection: { namespace }, log, watchList: false });
  const believed = informer.get(key('reborn'));
  expect(believed?.data?.['wanted']).toBe('first');
  const { uid, resourceVersion } = believed?.metadata ?? {};
  expect(uid).not.toBe(second.metadata.uid);
  for (const preconditions of [{ uid }, { resourceVersion }]) {
    await expect(client.delete(CONFIG_MAPS, key('reborn'), { preconditions })).rejects.toMatchObject({
      reason: 'Conflict',
    });
  }
  // An update based on that past fails too, so it cannot recreate the deleted object.
  if (believed) {
    await expect(client.update(CONFIG_MAPS, believed)).rejects.toMatchObject({ reason: 'Conflict' });
  }
  expect((await test.client.get(CONFIG_MAPS, key('reborn'))).metadata.uid).toBe(second.metadata.uid);
  over.resolve();
});

it('a controller that starts with an outdated cache reaches the present, and rewrites nothing (row 3)', async () => {
  const { proxy } = world;
  const client = world.client();
  await make('steady', 'one');
  const before = await test.client.request('GET', path, undefined, { query: { labelSelector: 'kept=yes' } });
  {
    await using keeper = await startKeeper({ client, namespace });
    await keeper.settled(['steady'], 'one');
  }
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const present = () =>
    Promise.all([CONFIG_MAPS, SECRETS].map((resource) => test.client.get(resource, key('steady'))));
  const settled = versions(await present());
  // Both kinds as before the first run: the map without annotation, no Secret.
  const past = {
    [path]: before,
    [secrets]: { ...record(before), kind: 'SecretList', items: [] },
  };
  proxy.setRules(({ lists, watch, path: asked, query }) => {
    const known = past[asked];
    if (!lists || known === undefined) return undefined;
    // This server does not support lists that are sent as a watch.
    return watch ? notSupported : query.has('limit') ? json(JSON.stringify(known)) : undefined;
  });
  await using keeper = await startKeeper({ client, namespace });
  await keeper.settled(['steady'], 'one');
  // Every write based on the past was refused: all objects have the same version as before.
  expect(versions(await present())).toEqual(settled);
});

const record = (value: unknown) => (typeof value === 'object' && value !== null ? value : {});
const notSupported = {
  kind: 'answer',
  status: 422,
  body: JSON.stringify({
    kind: 'Status',
    code: 422,
    reason: 'Invalid',
    message: 'sendInitialEvents: forbidden',
  }),
} as const;
