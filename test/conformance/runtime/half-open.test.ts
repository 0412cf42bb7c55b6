import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createClient } from '#runtime/client/client.ts';
import { CONFIG_MAPS, useNamespace } from '#runtime/testing/test-namespace.ts';
import { eventually, recordingLog, runInformers, useProxy } from './world.ts';

const test = useNamespace('half-open');
const world = useProxy(test);
const { namespace, key } = test;

// A fiftieth of the defaults: a PING each 15 s, silence of 36 s, checked eight times; noticed within 45 s.
const timing = { pingIntervalMs: 300, silenceMs: 720 };
const NOTICED_MS = 900;

it('notices a watch whose connection fell silent, and leaves healthy quiet ones alone (row 5)', async () => {
  const { proxy } = world;
  const healthy = createClient(test.endpoint, { userAgent: 'test', ...timing });
  const { log, lines } = recordingLog();
  await using caches = runInformers();
  let watches = 0;
  const quiet = await caches.start({
    client: healthy,
    selection: { namespace },
    log,
    observe: (event) => {
      if (event === 'watch') watches += 1;
    },
  });
  const reported = Promise.withResolvers<number>();
  const broken = await caches.start({
    client: world.client(timing),
    selection: { namespace },
    log: { ...log, warn: () => reported.resolve(performance.now()) },
    random: () => 0,
  });
  const lists = proxy.count((request) => request.lists);
  const frozenMs = performance.now();
  proxy.freeze();
  await test.client.create(CONFIG_MAPS, { metadata: key('after') });
  expect((await reported.promise) - frozenMs).toBeLessThan(NOTICED_MS + 400);
  await eventually(broken, 'what happened meanwhile', () => broken.get(key('after')) !== undefined);
  await eventually(quiet, 'the same', () => quiet.get(key('after')) !== undefined);
  expect(proxy.count((request) => request.lists)).toBe(lists);
  // The connection was idle for longer than the limit: only PINGs went over it.
  expect(watches).toBe(1);
  expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
  await healthy.close();
});

it('costs one time-out in total when all idle connections fell silent', async () => {
  const { proxy } = world;
  const client = world.client();
  const read = (timeoutMs?: number) => client.list(CONFIG_MAPS, { namespace, timeoutMs });
  await Promise.all(Array.from({ length: 8 }, () => read()));
  // undici reuses a connection one turn of the event loop after its answer; before, a call would open a new one.
  await setImmediate();
  proxy.freeze();
  await expect(read(500)).rejects.toMatchObject({ reason: 'Timeout' });
  const accepted = proxy.accepted();
  await Promise.all(Array.from({ length: 4 }, () => read(5000)));
  expect(proxy.accepted()).toBeGreaterThan(accepted);
});

it('opens new connections until a watch is not silent', async () => {
  const { proxy } = world;
  await using caches = runInformers();
  const informer = await caches.start({
    client: world.client(timing),
    selection: { namespace },
    log: createLogger('silent'),
    random: () => 0,
  });
  // From now on every connection is silent for a while. Each is noticed by the timeout of its headers or PINGs.
  proxy.setRules(({ watch, nth }) => (watch && nth % 2 === 1 ? { kind: 'freeze' } : undefined));
  proxy.reset();
  await test.client.create(CONFIG_MAPS, { metadata: key('later') });
  await eventually(informer, 'what came', () => informer.get(key('later')) !== undefined);
});
