import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KubeObject, ObjectKey, Resource } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { createInformer, type Informer } from '../cache/informer.ts';
import { clientOver } from '../client/client.ts';
import type { Selection } from '../client/client-options.ts';
import { createScriptedCaller, listOf, type OpenStream } from '../testing/scripted-caller.ts';
import { ApiError } from '../wire/api-error.ts';
import {
  type Controller,
  type ControllerOptions,
  createController,
  type ReconcileContext,
} from './controller.ts';
import { generationChanged, labelsChanged, shows, watching } from './sources.ts';
import { TerminalError } from './terminal-error.ts';

const THINGS: Resource = { group: 'x.io', version: 'v1', kind: 'Thing', plural: 'things', namespaced: true };
const PARTS: Resource = { group: '', version: 'v1', kind: 'Part', plural: 'parts', namespaced: true };
const thing = (name: string, resourceVersion: string, more: object = {}): KubeObject => ({
  apiVersion: 'x.io/v1',
  kind: 'Thing',
  metadata: { namespace: 'n', name, resourceVersion, uid: name, ...more },
});

interface Source {
  informer: Informer<KubeObject>;
  stream: OpenStream;
}
let clock: ManualClock;
let stop: AbortController;
let running: Promise<void>[];
let controller: Controller;
const log = createLogger('silent');

async function source(resource: Resource, items: KubeObject[], version: string): Promise<Source> {
  const caller = createScriptedCaller();
  const informer = createInformer<KubeObject>({
    client: clientOver(caller),
    resource,
    log,
    clock,
    watchList: false,
  });
  running.push(informer.run(stop.signal));
  (await caller.next()).answer(listOf(items, version));
  return { informer, stream: (await caller.next()).open() };
}

function run(
  options: Pick<ControllerOptions<KubeObject>, 'for' | 'reconcile'> & Partial<ControllerOptions<KubeObject>>,
) {
  controller = createController({ name: 'test', log, clock, ...options });
  running.push(controller.run(stop.signal));
}

beforeEach(() => {
  clock = createManualClock();
  stop = new AbortController();
  running = [];
});

afterEach(async () => {
  stop.abort(new Error('over'));
  await Promise.all(running);
  expect(clock.timers).toBe(0);
});

it('retries after an error with growing delays, until it succeeds', async () => {
  const { informer } = await source(THINGS, [thing('a', '1')], '5');
  const at: number[] = [];
  run({
    for: informer,
    async reconcile() {
      at.push(clock.monotonicMs());
      if (at.length < 4) throw new Error('again');
    },
  });
  await clock.advance(10_000);
  expect(at).toEqual([0, 5, 15, 35]);
});

it('retries after the time that the server requests, and works on other keys meanwhile', async () => {
  const { informer, stream } = await source(THINGS, [thing('a', '1'), thing('b', '1')], '5');
  const at: string[] = [];
  run({
    for: informer,
    async reconcile({ name }) {
      at.push(`${name} ${clock.monotonicMs()}`);
      if (at.length > 1) return;
      throw new ApiError('ServiceUnavailable', 'busy', { status: 503, retryAfterSeconds: 7 });
    },
  });
  await clock.advance(3000);
  stream.send('MODIFIED', thing('a', '6'));
  stream.send('MODIFIED', thing('b', '7'));
  await clock.advance(3999);
  expect(at).toEqual(['a 0', 'b 0', 'b 3000']);
  await clock.advance(1);
  expect(at).toEqual(['a 0', 'b 0', 'b 3000', 'a 7000']);
});

it('handles a synchronous throw', async () => {
  const { informer } = await source(THINGS, [thing('a', '1')], '5');
  let calls = 0;
  run({
    for: informer,
    reconcile() {
      calls += 1;
      if (calls === 1) throw new TypeError('bug');
      return Promise.resolve();
    },
  });
  await clock.advance(1000);
  expect(calls).toBe(2);
});

it('does not retry a TerminalError until the object changes', async () => {
  const { informer, stream } = await source(THINGS, [thing('a', '1')], '5');
  let calls = 0;
  run({
    for: informer,
    async reconcile() {
      calls += 1;
      throw new TerminalError('never');
    },
  });
  await clock.advance(100_000);
  expect(calls).toBe(1);
  stream.send('MODIFIED', thing('a', '6'));
  await clock.advance(0);
  expect(calls).toBe(2);
});

it('requeues a key when requested', async () => {
  const { informer } = await source(THINGS, [thing('a', '1')], '5');
  const at: number[] = [];
  run({
    for: informer,
    async reconcile() {
      at.push(clock.monotonicMs());
      return at.length < 3 ? { requeueAfterMs: 1000 } : undefined;
    },
  });
  await clock.advance(10_000);
  expect(at).toEqual([0, 1000, 2000]);
});

it('takes urgent keys first, then new keys, then keys that may wait', async () => {
  const there = ['a', 'b', 'urgent'].map((name) => thing(name, '1'));
  const { informer } = await source(THINGS, there, '1');
  const order: string[] = [];
  run({
    for: informer,
    urgent: ({ metadata }) => metadata.name === 'urgent',
    reconcile: async ({ name }, { behind }) => {
      order.push(`${name} ${behind ? 'behind' : 'first'}`);
      if (name === 'urgent' && !behind) return { requeueAfterMs: 100, behind: true };
      return undefined;
    },
  });
  await clock.advance(0);
  expect(order).toEqual(['urgent first', 'a behind', 'b behind']);
  for (const name of ['a', 'b']) controller.enqueue({ namespace: 'n', name });
  await clock.advance(100);
  expect(order.slice(3)).toEqual(['a first', 'b first', 'urgent behind']);
});

it('aborts a reconcile at its deadline, starts no second, and reports it as stalled', async () => {
  const { informer, stream } = await source(THINGS, [thing('a', '1')], '5');
  const gate = Promise.withResolvers<void>();
  const reasons: string[] = [];
  let active = 0;
  let most = 0;
  run({
    for: informer,
    workers: 4,
    deadlineMs: 1000,
    async reconcile(_key, { signal }) {
      active += 1;
      most = Math.max(most, active);
      signal.addEventListener('abort', () => reasons.push(String(signal.reason)));
      await gate.promise;
      active -= 1;
    },
  });
  await clock.advance(0);
  stream.send('MODIFIED', thing('a', '6'));
  await clock.advance(1500);
  expect(reasons).toEqual(['Error: reconcile of n/a took longer than 1 s']);
  expect(controller.stalled()).toMatchObject({ key: 'n/a', forMs: 1500 });
  expect(most).toBe(1);
  gate.resolve();
  await clock.advance(0);
  expect(controller.stalled()).toBeUndefined();
  expect(most).toBe(1);
});

it('works on different keys at once, as many as it has workers', async () => {
  const { informer } = await source(
    THINGS,
    ['a', 'b', 'c'].map((name) => thing(name, '1')),
    '5',
  );
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  run({
    for: informer,
    workers: 2,
    async reconcile({ name }) {
      begun.push(name);
      await gate.promise;
    },
  });
  await clock.advance(0);
  expect(begun).toEqual(['a', 'b']);
  gate.resolve();
  await clock.advance(0);
  expect(begun).toEqual(['a', 'b', 'c']);
});

it('holds a key until the caches have seen its writes, and lets others pass', async () => {
  const things = await source(THINGS, [thing('a', '1'), thing('b', '2')], '5');
  const parts = await source(PARTS, [], '5');
  const part: KubeObject = {
    apiVersion: 'v1',
    kind: 'Part',
    metadata: { namespace: 'n', name: 'p', resourceVersion: '8' },
  };
  const seen: string[] = [];
  run({
    for: things.informer,
    owns: [parts.informer],
    async reconcile({ name }: ObjectKey, { wrote }: ReconcileContext) {
      seen.push(`${name} ${parts.informer.size}`);
      if (name === 'a' && seen.length === 1) {
        wrote(thing('a', '7'));
        wrote(part);
        return { requeueAfterMs: 10 };
      }
      return undefined;
    },
  });
  await clock.advance(100);
  expect(seen).toEqual(['a 0', 'b 0']);
  things.stream.send('MODIFIED', thing('a', '7'));
  things.stream.send('MODIFIED', thing('b', '9'));
  await clock.advance(100);
  expect(seen).toEqual(['a 0', 'b 0', 'b 0']);
  parts.stream.send('ADDED', part);
  await clock.advance(100);
  expect(seen).toEqual(['a 0', 'b 0', 'b 0', 'a 1']);
});

it('does not wait for a kind that it has no cache of', async () => {
  const { informer } = await source(THINGS, [thing('a', '1')], '5');
  let calls = 0;
  run({
    for: informer,
    async reconcile(_key, { wrote }) {
      calls += 1;
      wrote({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: 'n', name: 's', resourceVersion: '99' },
      });
      return { requeueAfterMs: 1000 };
    },
  });
  await clock.advance(1500);
  expect(calls).toBe(2);
});

it('decides by kind, namespace, labels and name whether an informer shows an object', () => {
  const object = { ...thing('a', '1', { labels: { app: 'x' } }) };
  const shown = (selection: Selection, resource = THINGS) => shows({ resource, selection }, object);
  expect(shown({})).toBe(true);
  expect(shown({ namespace: 'n', labelSelector: 'app=x', fieldSelector: 'metadata.name=a' })).toBe(true);
  expect(shown({}, { ...THINGS, group: 'y.io' })).toBe(false);
  expect(shown({ namespace: 'other' })).toBe(false);
  expect(shown({ labelSelector: 'app=y' })).toBe(false);
  expect(shown({ fieldSelector: 'metadata.name=b' })).toBe(false);
});

it('is triggered by owners, maps and predicates', async () => {
  const things = await source(THINGS, [], '5');
  const parts = await source(PARTS, [], '5');
  const seen: string[] = [];
  run({
    for: things.informer,
    predicates: [generationChanged],
    owns: [parts.informer],
    watches: [watching(parts.informer, ({ metadata }) => [{ namespace: 'n', name: `by-${metadata.name}` }])],
    async reconcile({ name }) {
      seen.push(name);
    },
  });
  const next = async () => {
    await clock.advance(0);
    return seen.splice(0).sort();
  };
  const owner = (kind: string, apiVersion: string) => ({
    kind,
    apiVersion,
    name: 'owner',
    uid: 'u',
    controller: true,
  });
  const part = (version: string, ownerReferences: object[]) => ({
    metadata: { namespace: 'n', name: 'p', resourceVersion: version, ownerReferences },
  });
  things.stream.send('ADDED', thing('a', '6', { generation: 1 }));
  expect(await next()).toEqual(['a']);
  things.stream.send('MODIFIED', thing('a', '7', { generation: 1 }));
  expect(await next()).toEqual([]);
  things.stream.send('MODIFIED', thing('a', '8', { generation: 2 }));
  expect(await next()).toEqual(['a']);
  parts.stream.send('ADDED', part('9', [owner('Thing', 'x.io/v1beta1')]));
  expect(await next()).toEqual(['by-p', 'owner']);
  // Neither another group's kind of that name matches, nor a reference that does not control.
  parts.stream.send(
    'MODIFIED',
    part('10', [owner('Thing', 'y.io/v1'), { ...owner('Thing', 'x.io/v1'), controller: false }]),
  );
  expect(await next()).toEqual(['by-p', 'owner']);
  parts.stream.send('MODIFIED', part('11', []));
  expect(await next()).toEqual(['by-p']);
});

it('ignores updates of a watched kind that its predicate filters out', async () => {
  const things = await source(THINGS, [], '5');
  const parts = await source(PARTS, [], '5');
  const seen: string[] = [];
  run({
    for: things.informer,
    watches: [watching(parts.informer, () => [{ namespace: 'n', name: 'a' }], labelsChanged)],
    async reconcile({ name }) {
      seen.push(name);
    },
  });
  const next = async () => {
    await clock.advance(0);
    return seen.splice(0);
  };
  const part = (resourceVersion: string, labels: Record<string, string>) => ({
    metadata: { namespace: 'n', name: 'p', resourceVersion, labels },
  });
  parts.stream.send('ADDED', part('6', { on: 'a' }));
  expect(await next()).toEqual(['a']);
  parts.stream.send('MODIFIED', part('7', { on: 'a' }));
  expect(await next()).toEqual([]);
  parts.stream.send('MODIFIED', part('8', { on: 'b' }));
  expect(await next()).toEqual(['a']);
  parts.stream.send('DELETED', part('9', { on: 'b' }));
  expect(await next()).toEqual(['a']);
});

it('ends after its workers have ended', async () => {
  const { informer } = await source(THINGS, [thing('a', '1'), thing('b', '1')], '5');
  const begun: string[] = [];
  let ended = 0;
  run({
    for: informer,
    async reconcile({ name }, { signal }) {
      begun.push(name);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended += 1;
      throw signal.reason;
    },
  });
  await clock.advance(0);
  stop.abort(new Error('over'));
  await Promise.all(running);
  expect([begun, ended]).toEqual([['a'], 1]);
});
