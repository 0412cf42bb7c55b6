import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Secret, secretData } from '#api/core.ts';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { clientOver } from '#runtime/client/client.ts';
import { createScriptedCaller, listOf } from '#runtime/testing/scripted-caller.ts';
import type { Caller } from '#runtime/wire/call.ts';
import { NETWORK_FINALIZER, NETWORKS, type Network } from '../api.ts';
import type { Provider } from '../bridges/provider.ts';
import { type MemoryHost, memoryProvider } from '../bridges/testing/memory-provider.ts';
import { networkController } from './controller.ts';

/** Tests when unreachable hosts are tried again. */
const RESYNC_MS = 60_000;
const IP = '192.0.2.1';
const log = createLogger('silent');
const secret: Secret = { metadata: { name: 'key' }, data: secretData({ password: 'x' }) };
const network: Network = {
  apiVersion: `${NETWORKS.group}/${NETWORKS.version}`,
  kind: NETWORKS.kind,
  metadata: {
    ...{ namespace: 'n', name: 'a', uid: 'uid-1', resourceVersion: '1' },
    finalizers: [NETWORK_FINALIZER],
  },
  spec: { cidr: '10.9.0.0/24', gateway: '10.9.0.1', hosts: [{ ip: IP }], credentialsSecret: 'key' },
};

let clock: ManualClock;
let ending: AbortController;
let ended: Promise<unknown>;
let host: MemoryHost;
let at: number[];

beforeEach(() => {
  clock = createManualClock();
  ending = new AbortController();
  at = [];
});
afterEach(async () => {
  ending.abort(new Error('over'));
  await ended;
});

/** Starts a controller with one Network on one host; `chance` is the value of its random numbers. */
async function begin(chance: number): Promise<void> {
  const watched = createScriptedCaller();
  const networks = createInformer<Network>({
    ...{ client: clientOver(watched), resource: NETWORKS, log, clock },
    watchList: false,
  });
  const running = networks.run(ending.signal);
  (await watched.next()).answer(listOf([network], '1'));
  const stream = (await watched.next()).open();
  let version = 1;
  const caller: Caller = {
    ...watched,
    async call({ method, path, body }) {
      if (method === 'GET' && path.endsWith('/secrets/key')) return secret;
      if (method !== 'PUT' || typeof body !== 'object') throw new Error(`${method} ${path} was not expected`);
      version += 1;
      const written = { ...body, metadata: { ...network.metadata, resourceVersion: `${version}` } };
      stream.send('MODIFIED', written);
      return written;
    },
  };
  const memory = memoryProvider();
  host = memory.host(IP);
  const provider: Provider = {
    reach(place) {
      at.push(clock.monotonicMs());
      return memory.reach(place);
    },
  };
  const recorder = { event: () => {}, stop: async () => {} };
  const controller = networkController({
    ...{ client: clientOver(caller), clock, log, recorder, networks, provider },
    ...{ workers: 1, resyncMs: RESYNC_MS, random: () => chance },
  });
  ended = Promise.all([running, controller.run(ending.signal)]);
}

/** Lists the seconds between two attempts. */
const pauses = () => at.slice(1).map((ms, index) => (ms - (at[index] ?? 0)) / 1_000);

it.each([
  [0, 0.8],
  [0.5, 1],
  [0.9999, 1.2],
])(
  'retries of an unreachable host back off to five minutes, each with a jitter of a fifth (%d)',
  async (chance, by) => {
    await begin(chance);
    host.away = 'Unreachable';
    await clock.advance(2_000_000);
    const expected = [5, 10, 20, 40, 80, 160, 300, 300, 300];
    expect(pauses().slice(0, expected.length)).toEqual(
      expected.map((seconds) => expect.closeTo(seconds * by, 0)),
    );
  },
);

it('retries start again with the first pause once the host was reached', async () => {
  await begin(0.5);
  host.away = 'Unreachable';
  await clock.advance(100_000);
  expect(pauses()).toEqual([5, 10, 20, 40]);
  host.away = undefined;
  await clock.advance(60_000);
  expect(pauses()).toEqual([5, 10, 20, 40, 80]);
  expect(host.bridges.size).toBe(1);
  host.away = 'Unreachable';
  await clock.advance(80_000);
  expect(pauses().slice(5)).toEqual([60, 5, 10]);
});
