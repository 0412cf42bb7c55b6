import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { internalAnnotations, logHeadName, logPartName } from '#api/names.ts';
import { systemClock } from '#base/clock.ts';
import type { JobCaller } from '../auth/job-caller.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';
import { logBudgetIn } from './log-budget.ts';
import { START } from './log-source.ts';
import { type LogStore, logStoreIn } from './log-store.ts';

let world: RestWorld;
let caller: JobCaller;
/** Two replicas, with the server's permissions. */
let [store, other]: LogStore[] = [];
let made = 0;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());
beforeEach(() => {
  made += 1;
  const cluster = { namespace: world.namespace, name: 'demo' };
  caller = {
    ...{ job: `create-s${made}-1`, clusterId: 'c1', sequence: 1, attempt: 1 },
    ...{ isAuxiliary: false, cluster, ended: false },
  };
  store = logStoreIn(world.client, world.reportsNamespace, systemClock);
  other = logStoreIn(world.client, world.reportsNamespace, systemClock);
});

const event = (message: string) => `${JSON.stringify({ event: 'info', message })}\n`;
const bytesOf = (lines: readonly string[]): number => Buffer.byteLength(lines.join(''));
/** Logs lines, each in a separate part. */
async function logged(count: number): Promise<string[]> {
  const lines = Array.from({ length: count }, (_, number) => event(`line ${number} äöü`));
  for (const [number, line] of lines.entries()) {
    const answer = await store?.append(caller, bytesOf(lines.slice(0, number)), Buffer.from(line), undefined);
    expect(answer).toEqual({ next: bytesOf(lines.slice(0, number + 1)), ok: true });
  }
  return lines;
}
const find = (name: string) =>
  world.admin.find<ConfigMap>(CONFIG_MAPS, { namespace: world.reportsNamespace, name });

describe('a packed log', () => {
  it('reads the same from any position, and leaves no parts', async () => {
    const lines = await logged(5);
    const whole = { text: lines.join(''), next: { number: 0, offset: bytesOf(lines) } };
    await store?.pack(caller);
    for (const number of lines.keys()) expect(await find(logPartName(caller.job, number))).toBeUndefined();
    const head = await find(logHeadName(caller.job));
    expect(head?.metadata.annotations).toMatchObject({
      [internalAnnotations.packed]: '0',
      [internalAnnotations.bytes]: String(bytesOf(lines)),
    });
    expect(await other?.read(caller.job, START)).toEqual(whole);
    // A client that had read two of the parts continues after them.
    const at = { number: 2, offset: bytesOf(lines.slice(0, 2)) };
    const rest = await other?.read(caller.job, at);
    expect(rest).toEqual({ text: lines.slice(2).join(''), next: { number: 2, offset: bytesOf(lines) } });
    expect(await other?.read(caller.job, { number: 2, offset: bytesOf(lines) })).toBeUndefined();
    expect(await other?.tail(caller.job, 10)).toEqual({ text: whole.text, isWhole: true });
  });

  it('may be packed again', async () => {
    const lines = await logged(4);
    await store?.pack(caller);
    await other?.pack(caller);
    expect((await other?.read(caller.job, START))?.text).toBe(lines.join(''));
  });

  it('stays unpacked if it is short or missing', async () => {
    await store?.pack(caller);
    const lines = await logged(2);
    await store?.pack(caller);
    expect(await find(logPartName(caller.job, 1))).toMatchObject({ data: { events: lines[1] } });
  });
});

describe('a growing log', () => {
  it('returns only its end on request', async () => {
    const lines = await logged(9);
    expect(await other?.last(caller.job)).toMatchObject({ number: 8, text: lines[8] });
    const tail = await other?.tail(caller.job, bytesOf(lines.slice(8)) + 1);
    expect(tail).toEqual({ text: lines.slice(7).join(''), isWhole: false });
    expect(await other?.tail(caller.job, bytesOf(lines))).toEqual({ text: lines.join(''), isWhole: true });
    expect(await other?.tail('create-none-1', 10)).toEqual({ text: '', isWhole: true });
  });

  it('continues on another replica, which returns the offset, and back', async () => {
    const lines = await logged(2);
    const [next, last] = [event('third'), event('fourth')];
    expect(await other?.append(caller, 0, Buffer.from(next), undefined)).toEqual({
      next: bytesOf(lines),
      ok: false,
    });
    await other?.append(caller, bytesOf(lines), Buffer.from(next), undefined);
    expect(await store?.append(caller, bytesOf([...lines, next]), Buffer.from(last), undefined)).toEqual({
      next: bytesOf([...lines, next, last]),
      ok: true,
    });
  });

  it('is known as followed on every replica', async () => {
    await expect(other?.follow(caller.job)).rejects.toThrow('nothing is logged yet');
    await logged(1);
    await other?.follow(caller.job);
    expect(await store?.isFollowed(caller.job)).toBe(true);
    expect(await store?.isFollowed('create-none-1')).toBe(false);
  });
});

it('limits the logs of a namespace in addition to the limit of an attempt', async () => {
  const budget = logBudgetIn(world.client, world.reportsNamespace, systemClock, 1);
  const limited = logStoreIn(world.client, world.reportsNamespace, systemClock, budget);
  const line = event('x'.repeat(100 * 1024));
  let offset = 0;
  for (const step of ['one', 'two', 'three', 'four'])
    offset = (await limited.append(caller, offset, Buffer.from(line), step)).next;
  const { text = '' } = (await limited.last(caller.job)) ?? {};
  expect(text).toMatch(
    /^\{.*the log is full.*the clusters of namespace people-\w+ keep .* of logs, which is the most/,
  );
  expect(text.length).toBeLessThan(1000);
});
