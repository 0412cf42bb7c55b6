import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '../client/client.ts';
import { createScriptedCaller, listOf } from '../testing/scripted-caller.ts';
import { ApiError, type ApiReason } from '../wire/api-error.ts';
import { createInformer, type Informer, type InformerOptions } from './informer.ts';

const THINGS: Resource = { group: 'x.io', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const thing = (name: string, resourceVersion: string): KubeObject => ({
  metadata: { namespace: 'n', name, resourceVersion, uid: name, managedFields: [{}] },
});
const failure = (reason: ApiReason, status: number) => new ApiError(reason, reason, { status });

let clock: ManualClock;
let caller: ReturnType<typeof createScriptedCaller>;
let stop: AbortController;
let informer: Informer<KubeObject>;
let news: string[];
let running: Promise<void>;

function start(options: Partial<InformerOptions<KubeObject>> = {}) {
  informer = createInformer<KubeObject>({
    client: clientOver(caller),
    resource: THINGS,
    log: createLogger('silent'),
    clock,
    random: () => 0,
    watchList: false,
    ...options,
  });
  informer.addHandler({
    add: ({ metadata }, { initial }) => news.push(`add ${metadata.name}${initial ? ' initial' : ''}`),
    update: ({ metadata }, _after, { initial, resync }) =>
      news.push(`update ${metadata.name}${initial ? ' initial' : ''}${resync ? ' resync' : ''}`),
    delete: ({ metadata }, { stale }) => news.push(`delete ${metadata.name}${stale ? ' stale' : ''}`),
  });
  running = informer.run(stop.signal);
}

/** Lists the given objects; returns the watch that follows. */
async function synced(items: KubeObject[], version: string) {
  (await caller.next()).answer(listOf(items, version));
  const watch = await caller.next();
  expect(watch.request.query).toMatchObject({
    watch: true,
    resourceVersion: version,
    allowWatchBookmarks: true,
  });
  return watch.open();
}

beforeEach(() => {
  clock = createManualClock();
  caller = createScriptedCaller();
  stop = new AbortController();
  news = [];
});

afterEach(async () => {
  stop.abort(new Error('over'));
  await running;
  expect(clock.timers).toBe(0);
});

describe('an informer', () => {
  it('increases the page size while pages arrive quickly', async () => {
    start();
    const limits: unknown[] = [];
    for (const tookMs of [0, 100, 3_000, 0, 0, 0, 0, 0]) {
      const page = await caller.next();
      limits.push(page.request.query?.['limit']);
      await clock.advance(tookMs);
      page.answer(listOf([], '5', 'token'));
    }
    expect(limits).toEqual([500, 1000, 2000, 500, 1000, 2000, 4000, 5000]);
  });

  it('lists in pages, shows nothing before the last page, then follows the watch', async () => {
    start();
    const first = await caller.next();
    expect(first.request.query).toMatchObject({ limit: 500, continue: undefined });
    expect(first.request.query).not.toHaveProperty('resourceVersion');
    first.answer(listOf([thing('a', '1')], '5', 'token'));
    const second = await caller.next();
    expect(second.request.query).toMatchObject({ limit: 1000, continue: 'token' });
    expect([informer.size, informer.hasSynced()]).toEqual([0, false]);
    second.answer(listOf([thing('b', '2')], '5'));
    const watch = (await caller.next()).open();
    expect([informer.size, informer.hasSynced()]).toEqual([2, true]);
    watch.send('MODIFIED', thing('a', '6'));
    watch.send('DELETED', thing('b', '7'));
    watch.send('ADDED', thing('c', '8'));
    await clock.advance(0);
    expect(news).toEqual(['add a initial', 'add b initial', 'update a', 'delete b', 'add c']);
    expect(informer.get({ namespace: 'n', name: 'a' })).toMatchObject({ metadata: { resourceVersion: '6' } });
    expect(informer.list().some(({ metadata }) => 'managedFields' in metadata)).toBe(false);
  });

  it('continues from the last version after a watch ends, also from a bookmark', async () => {
    start();
    const watch = await synced([], '5');
    watch.send('BOOKMARK', { metadata: { resourceVersion: '9' } });
    watch.end();
    const next = await caller.next();
    expect(next.request.query).toMatchObject({ watch: true, resourceVersion: '9' });
    expect(news).toEqual([]);
  });

  it.each([
    ['Connection', 0],
    ['TooManyRequests', 429],
    ['InternalError', 500],
    ['ServiceUnavailable', 503],
  ] as const)('waits and continues from the same version after %s', async (reason, status) => {
    start();
    const watch = await synced([thing('a', '1')], '5');
    watch.break('reset');
    await clock.advance(800);
    for (const waitMs of [1600, 3200]) {
      const next = await caller.next();
      expect(next.request.query).toMatchObject({ watch: true, resourceVersion: '5' });
      next.fail(failure(reason, status));
      await clock.advance(waitMs - 1);
      expect(caller.pending).toBe(0);
      await clock.advance(1);
    }
    expect(informer.failure()).toContain(reason);
    const healed = (await caller.next()).open();
    healed.send('ADDED', thing('b', '6'));
    await clock.advance(0);
    expect(informer.failure()).toBeUndefined();
    expect(news).toEqual(['add a initial', 'add b']);
  });

  it('lists again after a delay if its version expired, and reports missed changes', async () => {
    start();
    const watch = await synced([thing('kept', '1'), thing('changed', '1'), thing('lost', '1')], '5');
    news.length = 0;
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    await clock.advance(799);
    expect(caller.pending).toBe(0);
    await clock.advance(1);
    expect(informer.size).toBe(3);
    await synced([thing('kept', '1'), thing('changed', '8'), thing('new', '9')], '10');
    expect(news).toEqual(['delete lost stale', 'update changed initial', 'add new initial']);
  });

  it('retries a list older than its objects, and accepts the third', async () => {
    start();
    const watch = await synced([thing('a', '1')], '5');
    watch.send('MODIFIED', thing('a', '9'));
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' });
    for (const waitMs of [800, 1600]) {
      await clock.advance(waitMs);
      news.length = 0;
      (await caller.next()).answer(listOf([thing('a', '3')], '7'));
      await clock.advance(0);
      expect(news).toEqual([]);
      expect(informer.list().map(({ metadata }) => metadata.resourceVersion)).toEqual(['9']);
      expect(informer.failure()).toContain('as of version 7, older than 9');
    }
    await clock.advance(3200);
    await synced([thing('a', '3')], '7');
    expect(news).toEqual(['update a initial']);
    expect(informer.failure()).toBeUndefined();
  });

  it('lists again when the server does not know its version yet', async () => {
    start();
    const watch = await synced([], '500');
    watch.send('ERROR', {
      kind: 'Status',
      code: 504,
      reason: 'Timeout',
      message: 'Too large resource version: 500',
    });
    await clock.advance(800);
    expect((await caller.next()).request.query).not.toHaveProperty('watch');
  });

  it('lists without pages when the page token expires', async () => {
    start();
    (await caller.next()).answer(listOf([thing('a', '1')], '5', 'token'));
    (await caller.next()).fail(failure('Expired', 410));
    const whole = await caller.next();
    expect(whole.request.query).toMatchObject({ limit: undefined, continue: undefined });
  });

  it('waits for a kind that is not installed yet', async () => {
    start();
    (await caller.next()).fail(failure('NotFound', 404));
    await clock.advance(800);
    expect(informer.failure()).toContain('the server has no things.x.io (v1) yet');
    await synced([thing('a', '1')], '5');
    expect(informer.hasSynced()).toBe(true);
  });

  it('delays the next watch if the server closes a watch at once', async () => {
    start();
    const watch = await synced([], '5');
    watch.end();
    await clock.advance(799);
    expect(caller.pending).toBe(0);
    await clock.advance(1);
    expect(caller.pending).toBe(1);
  });

  it('survives invalid answers', async () => {
    start();
    (await caller.next()).answer('<html>');
    await clock.advance(800);
    (await caller.next()).answer({ metadata: {}, items: [] });
    const watch = (await caller.next()).open();
    watch.send('NEWS', {});
    await clock.advance(1600);
    expect((await caller.next()).request.query).toMatchObject({ watch: true });
  });

  it('isolates a handler that throws', async () => {
    start();
    const heard: string[] = [];
    informer.addHandler({
      add() {
        throw new Error('handler');
      },
    });
    informer.addHandler({ add: ({ metadata }) => heard.push(metadata.name ?? '') });
    const watch = await synced([thing('a', '1')], '5');
    watch.send('ADDED', thing('b', '6'));
    await clock.advance(0);
    expect(heard).toEqual(['a', 'b']);
  });

  it('gives existing objects to a late handler, and nothing to a removed one', async () => {
    start();
    const watch = await synced([thing('a', '1')], '5');
    const late: string[] = [];
    const leave = informer.addHandler({
      add: ({ metadata }, { initial }) => late.push(`${metadata.name} ${initial}`),
    });
    leave();
    watch.send('ADDED', thing('b', '6'));
    await clock.advance(0);
    expect(late).toEqual(['a true']);
  });

  it('resyncs from the cache alone', async () => {
    start({ resyncMs: 60_000 });
    await synced([thing('a', '1')], '5');
    await clock.advance(120_000);
    expect(news).toEqual(['add a initial', 'update a resync', 'update a resync']);
    expect(caller.pending).toBe(0);
  });

  it('reports that it reached a version, by event, bookmark or a later list', async () => {
    start();
    const reached: string[] = [];
    informer.onReached('6', () => reached.push('event'));
    informer.onReached('8', () => reached.push('bookmark'));
    // A list begun before the wait proves nothing; a list begun after it does (below).
    const watch = await synced([], '5');
    expect(reached).toEqual([]);
    watch.send('ADDED', thing('a', '6'));
    await clock.advance(0);
    expect([reached, informer.hasReached('6'), informer.hasReached('7')]).toEqual([['event'], true, false]);
    watch.send('BOOKMARK', { metadata: { resourceVersion: '8' } });
    await clock.advance(0);
    expect(reached).toEqual(['event', 'bookmark']);
    // After an etcd restore, versions go back; an object that a later list does not show does not exist.
    informer.onReached('1000', () => reached.push('list'));
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: '' });
    await clock.advance(800);
    await synced([], '20');
    expect(reached).toEqual(['event', 'bookmark', 'list']);
  });
});

describe('WatchList', () => {
  it('reads the initial objects from a watch, and adds them at once', async () => {
    start({ watchList: true });
    const exchange = await caller.next();
    expect(exchange.request.query).toMatchObject({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
    });
    const watch = exchange.open();
    watch.send('ADDED', thing('a', '1'));
    watch.send('ADDED', thing('b', '2'));
    watch.send('BOOKMARK', { metadata: { resourceVersion: '3' } });
    await clock.advance(0);
    expect(informer.hasSynced()).toBe(false);
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    watch.send('BOOKMARK', { metadata: { resourceVersion: '5', annotations } });
    watch.send('DELETED', thing('a', '6'));
    await clock.advance(0);
    expect(news).toEqual(['add a initial', 'add b initial', 'delete a']);
    watch.break('reset');
    await clock.advance(800);
    expect((await caller.next()).request.query).toMatchObject({ resourceVersion: '6' });
  });

  it('falls back to a list if the server lacks it, and does not try again', async () => {
    start({ watchList: true });
    (await caller.next()).fail(failure('Invalid', 422));
    const watch = await synced([], '5');
    watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: '' });
    await clock.advance(800);
    expect((await caller.next()).request.query).toMatchObject({ limit: 500 });
  });

  it('starts again after an interruption', async () => {
    start({ watchList: true });
    const watch = (await caller.next()).open();
    watch.send('ADDED', thing('a', '1'));
    watch.break('reset');
    await clock.advance(800);
    expect((await caller.next()).request.query).toMatchObject({ sendInitialEvents: true });
    expect(informer.size).toBe(0);
  });
});
