import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { clientOver } from '../client/client.ts';
import { isKubeObject } from '../client/expect-object.ts';
import { ApiError } from '../wire/api-error.ts';
import type { ApiRequest, Caller } from '../wire/call.ts';
import { createElection, type Election, LeadershipLost } from './leader.ts';
import type { Lease } from './lease.ts';

/** Creates a stand-in for the API server: one Lease with its optimistic lock, which is all that an election uses. */
function createLeaseServer() {
  let stored: Lease | undefined;
  let version = 0;
  const refuse = (reason: 'NotFound' | 'Conflict' | 'AlreadyExists', status: number) =>
    new ApiError(reason, reason, { status });
  const serve = ({ method, body }: ApiRequest): Lease => {
    if (method === 'GET') {
      if (!stored) throw refuse('NotFound', 404);
      return structuredClone(stored);
    }
    if (!isKubeObject<Lease>(body)) throw new TypeError('no lease');
    if (method === 'POST' && stored) throw refuse('AlreadyExists', 409);
    if (method === 'PUT' && body.metadata.resourceVersion !== stored?.metadata.resourceVersion) {
      throw refuse('Conflict', 409);
    }
    version += 1;
    const creationTimestamp = stored?.metadata.creationTimestamp ?? clock.now().toISOString();
    const metadata = { ...body.metadata, creationTimestamp, resourceVersion: String(version) };
    stored = { ...structuredClone(body), metadata };
    return structuredClone(stored);
  };
  return {
    holder: () => stored?.spec?.holderIdentity,
    version: () => version,
    remove() {
      stored = undefined;
    },
    set: (spec: Lease['spec']) => {
      version += 1;
      stored = {
        metadata: { ...stored?.metadata, namespace: 'n', name: 'l', resourceVersion: String(version) },
        ...(spec ? { spec } : {}),
      };
    },
    /** Returns a connection to it that can be cut, or lose its answers. */
    line(fault: { cut?: boolean; deaf?: boolean } = {}): Caller {
      return {
        async call(request) {
          const lost = new ApiError('Connection', 'reset', { status: 0 });
          if (fault.cut) throw lost;
          const answer = serve(request);
          if (fault.deaf && request.method !== 'GET') throw lost;
          return answer;
        },
        stream: () => Promise.reject(new Error('no streams')),
        close: async () => {},
      };
    },
  };
}

let clock: ManualClock;
let server: ReturnType<typeof createLeaseServer>;
let elections: Election[];

function elect(
  identity: string,
  fault: { cut?: boolean; deaf?: boolean } = {},
  observe?: (leading: boolean) => void,
) {
  const lease = { namespace: 'n', name: 'l' };
  const client = clientOver(server.line(fault));
  const election = createElection({ client, lease, identity, log: createLogger('silent'), clock, observe });
  elections.push(election);
  election.start();
  return election;
}

beforeEach(() => {
  clock = createManualClock();
  server = createLeaseServer();
  elections = [];
});

afterEach(async () => {
  await Promise.all(elections.map((election) => election.stop()));
  expect(clock.timers).toBe(0);
});

it('elects one leader, which keeps the Lease', async () => {
  const [a, b] = [elect('a'), elect('b')];
  await clock.advance(60_000);
  expect([a.isLeading(), b.isLeading(), a.lost.aborted]).toEqual([true, false, false]);
  expect(server.version()).toBeGreaterThan(25);
});

it('passes leadership from a dead leader within 15 s, and never to two at once', async () => {
  const fault = { cut: false };
  const a = elect('a', fault);
  await clock.advance(1000);
  const b = elect('b');
  await clock.advance(6500);
  fault.cut = true;
  let tookMs = 0;
  for (; !b.isLeading() && tookMs < 60_000; tookMs += 100) {
    await clock.advance(100);
    expect(a.isLeading() && b.isLeading()).toBe(false);
  }
  expect(tookMs).toBeLessThanOrEqual(15_000);
  expect(a.lost.reason).toBeInstanceOf(LeadershipLost);
});

it('has a later term than every leader before, also if the Lease was deleted meanwhile', async () => {
  const a = elect('a');
  await clock.advance(2000);
  const first = a.term();
  expect(a.term()).toEqual({ since: Math.floor(clock.now().getTime() / 1000) - 2, number: 1 });
  const b = elect('b');
  await clock.advance(2000);
  expect(b.term()).toBeUndefined();
  await a.stop();
  await clock.advance(5000);
  const second = b.term();
  expect(second).toEqual({ since: first?.since, number: 2 });
  await b.stop();
  expect(b.term()).toBeUndefined();
  server.remove();
  const c = elect('c');
  await clock.advance(2000);
  expect(c.term()?.since).toBeGreaterThan(second?.since ?? Number.NaN);
});

it('returns no term after another holder took the Lease', async () => {
  const reported: unknown[] = [];
  const a: Election = elect('a', {}, (leading) => leading || reported.push(a.term()));
  await clock.advance(5000);
  server.set({ holderIdentity: 'b', leaseDurationSeconds: 12, leaseTransitions: 7 });
  await clock.advance(5000);
  expect(a.lost.reason).toBeInstanceOf(LeadershipLost);
  expect(reported).toEqual([undefined]);
});

it('stops leading at once after a sleep longer than its Lease', async () => {
  const a = elect('a');
  await clock.advance(5000);
  clock.freeze(13_000);
  expect(a.isLeading()).toBe(false);
});

it('ignores jumps of the wall clock and times that others wrote', async () => {
  server.set({ holderIdentity: 'b', leaseDurationSeconds: 12, renewTime: '2099-01-01T00:00:00.000000Z' });
  const a = elect('a');
  await clock.advance(11_900);
  expect(a.isLeading()).toBe(false);
  await clock.advance(200);
  expect(a.isLeading()).toBe(true);
  clock.step(86_400_000);
  await clock.advance(30_000);
  clock.step(-2 * 86_400_000);
  await clock.advance(30_000);
  expect([a.isLeading(), a.lost.aborted]).toEqual([true, false]);
});

it('releases the Lease when it stops, and the next leader takes it at once', async () => {
  const [a, b] = [elect('a'), elect('b')];
  await clock.advance(3000);
  await a.stop();
  expect([a.isLeading(), server.holder()]).toEqual([false, '']);
  await clock.advance(2000);
  expect(b.isLeading()).toBe(true);
});

it('releases the Lease despite a late renewal, but not if another holds it', async () => {
  const a = elect('a');
  await clock.advance(1000);
  server.set({ holderIdentity: 'a', leaseDurationSeconds: 12 });
  await a.stop();
  expect(server.holder()).toBe('');
  const b = elect('b');
  await clock.advance(1000);
  server.set({ holderIdentity: 'c', leaseDurationSeconds: 12 });
  await b.stop();
  expect(server.holder()).toBe('c');
});

it('keeps leading although answers to its writes were lost', async () => {
  const fault = { deaf: false };
  const a = elect('a', fault);
  await clock.advance(3000);
  fault.deaf = true;
  await clock.advance(5000);
  fault.deaf = false;
  await clock.advance(10_000);
  expect([a.isLeading(), a.lost.aborted]).toEqual([true, false]);
});

it('loses leadership permanently when another holds the Lease', async () => {
  const a = elect('a');
  await clock.advance(1000);
  server.set({ holderIdentity: 'b', leaseDurationSeconds: 12 });
  await clock.advance(2100);
  expect([a.isLeading(), a.lost.aborted]).toEqual([false, true]);
  await clock.advance(60_000);
  expect([a.isLeading(), server.holder()]).toEqual([false, 'b']);
});
