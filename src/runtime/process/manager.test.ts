import { beforeEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import type { Controller } from '../controller/controller.ts';
import { type Election, LeadershipLost } from '../leader/leader.ts';
import { type Cache, createManager, type Service } from './manager.ts';

const log = createLogger('silent');
let clock: ManualClock;
let steps: string[];
let leading: PromiseWithResolvers<void>;
let lost: AbortController;

beforeEach(() => {
  clock = createManualClock();
  steps = [];
  leading = Promise.withResolvers();
  lost = new AbortController();
});

const service = (name: string): Service => ({
  name,
  start: async () => void steps.push(`${name} up`),
  stop: async () => void steps.push(`${name} down`),
});
const untilAborted = (name: string) => async (signal: AbortSignal) => {
  steps.push(`${name} up`);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  await new Promise((resolve) => setImmediate(resolve));
  steps.push(`${name} down`);
};
const cache = (identity: string, synced: Promise<void> = Promise.resolve()): Cache => ({
  identity,
  run: untilAborted(identity),
  whenSynced: (signal) =>
    new Promise((resolve, reject) => {
      void synced.then(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason));
    }),
});
const controller = (run = untilAborted('controller')): Controller => ({
  name: 'c',
  run,
  enqueue: () => {},
  stalled: () => undefined,
});
const election = (): Election => ({
  start: () => void steps.push('election up'),
  whenLeading: (signal) =>
    new Promise((resolve, reject) => {
      void leading.promise.then(resolve);
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
  term: () => undefined,
  isLeading: () => true,
  lost: lost.signal,
  stop: async () => void steps.push('lease back'),
});
const whole = () => ({
  probes: service('probes'),
  servers: [service('webhook')],
  caches: [cache('cache')],
  election: election(),
  controllers: [controller()],
  recorder: { stop: async () => void steps.push('recorder down') },
  log,
  clock,
});
const DOWN = ['controller down', 'lease back', 'cache down', 'webhook down', 'probes down', 'recorder down'];

it('starts in order and stops in reverse, the recorder last', async () => {
  const stop = new AbortController();
  const running = createManager(whole()).run(stop.signal);
  await clock.advance(0);
  expect(steps).toEqual(['probes up', 'webhook up', 'cache up', 'election up']);
  leading.resolve();
  await clock.advance(0);
  expect(steps.splice(0).at(-1)).toBe('controller up');
  stop.abort();
  await running;
  expect(steps).toEqual(DOWN);
});

it('serves probes and fills caches while another leads, and stops cleanly', async () => {
  const stop = new AbortController();
  const running = createManager(whole()).run(stop.signal);
  await clock.advance(0);
  steps.length = 0;
  stop.abort();
  await running;
  expect(steps).toEqual(DOWN.slice(1));
});

it('stops while it waits for a cache that never fills', async () => {
  const stop = new AbortController();
  const caches = [cache('cache', new Promise(() => {}))];
  const running = createManager({ ...whole(), caches }).run(stop.signal);
  await clock.advance(0);
  stop.abort();
  await running;
  expect(steps).not.toContain('election up');
});

it('rejects when leadership is lost, with the controllers stopped', async () => {
  const running = createManager(whole()).run(new AbortController().signal);
  leading.resolve();
  await clock.advance(0);
  steps.length = 0;
  lost.abort(new LeadershipLost('gone'));
  await expect(running).rejects.toBeInstanceOf(LeadershipLost);
  expect(steps[0]).toBe('controller down');
});

it('rejects if a service cannot start, and stops the started ones', async () => {
  const servers = [{ ...service('webhook'), start: () => Promise.reject(new Error('port taken')) }];
  await expect(createManager({ ...whole(), servers }).run(new AbortController().signal)).rejects.toThrow(
    'port taken',
  );
  expect(steps).toEqual(['probes up', 'probes down', 'recorder down']);
});

it('stops after a timeout even if a controller does not end', async () => {
  const stop = new AbortController();
  const controllers = [controller(() => new Promise(() => {}))];
  let ended = false;
  const running = createManager({ ...whole(), controllers, stopTimeoutMs: 5000 })
    .run(stop.signal)
    .then(() => (ended = true));
  leading.resolve();
  await clock.advance(0);
  stop.abort();
  await clock.advance(4999);
  expect(ended).toBe(false);
  await clock.advance(1);
  await running;
  expect(steps.at(-1)).toBe('recorder down');
});

it('refuses two informers of one kind and selection', () => {
  expect(() => createManager({ ...whole(), caches: [cache('a'), cache('a')] })).toThrow(/share one/);
});
