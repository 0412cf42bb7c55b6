import { expect, it } from 'vitest';
import type { Controller } from '../controller/controller.ts';
import { cachesSynced, watchesAlive, workersAlive } from './health.ts';

const controller = (forMs?: number): Controller => ({
  name: 'sample',
  run: async () => {},
  enqueue: () => {},
  stalled: () => (forMs === undefined ? undefined : { key: 'n/a', forMs, deadlineMs: 60_000 }),
});
const cache = (synced: boolean, failure?: string, stalledMs = 0) => ({
  identity: 'v1/pods',
  hasSynced: () => synced,
  failure: () => failure,
  stalledMs: () => stalledMs,
});

it('is alive until a worker is far past its deadline', () => {
  expect(workersAlive([controller(), controller(90_000)])()).toBeUndefined();
  expect(workersAlive([controller(121_000)])()).toBe('sample: n/a has been in work for 121 s');
});

it('is alive while a server is down, but not if a watch is stuck', () => {
  expect(watchesAlive([cache(true, 'connection refused', 60_000)])()).toBeUndefined();
  expect(watchesAlive([cache(true, undefined, 901_000)])()).toContain(
    'v1/pods: no list, watch or retry for 901 s',
  );
});

it('is ready after every cache has synced, and reports what it waits for', () => {
  expect(cachesSynced([cache(true)])()).toBeUndefined();
  expect(cachesSynced([cache(true), cache(false, 'not found')])()).toBe('waiting for v1/pods (not found)');
});
