import { afterEach, expect, it } from 'vitest';
import { html, type Rules } from '#lab/fault-proxy/faults.ts';
import type { FaultProxy } from '#lab/fault-proxy/start.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import { cachesSynced } from '#runtime/process/health.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { createProbes } from '#runtime/process/probes.ts';
import { CONFIG_MAPS, type ConfigMap, useNamespace } from '#runtime/testing/test-namespace.ts';
import { recordingLog, useProxy, within } from './world.ts';

const test = useNamespace('bad-servers');
const world = useProxy(test);

const crashes: unknown[] = [];
const note = (error: unknown) => crashes.push(error);
process.on('uncaughtException', note).on('unhandledRejection', note);
afterEach(() => {
  process.off('uncaughtException', note).off('unhandledRejection', note);
});

const answering = (rules: Rules) => (proxy: FaultProxy) => proxy.setRules(rules);

/** Faults of a server, and what the log and /readyz must report for each. A separate informer watches each server. */
const servers: [string, (proxy: FaultProxy) => void, RegExp][] = [
  [
    'speaks garbage',
    (proxy) => proxy.setConnectionFault(() => 'garbage'),
    /wrong version number|packet length/,
  ],
  ['closes at once', (proxy) => proxy.setConnectionFault(() => 'close'), /disconnected|ECONNRESET|closed/],
  ['shows an expired certificate', (proxy) => proxy.present('expired'), /certificate has expired/],
  ['answers HTML', answering(() => html()), /no watch event: <!doctype html>/],
  ['answers HTML of an error', answering(() => html(502)), /HTTP 502 without a Kubernetes status/],
  [
    'truncates what it says',
    answering(() => ({ kind: 'truncate', afterBytes: 40 })),
    /ended|cut|aborted|RST|stream|other side closed|NGHTTP2/i,
  ],
];

it.each(servers)(
  'a server that %s is retried with backoff, logged in one line, and used once it works',
  async (...one) => {
    const [, spoil, says] = one;
    const { proxy } = world;
    spoil(proxy);
    const before = proxy.requests.length + proxy.accepted();
    const { log, lines } = recordingLog();
    const metrics = createMetrics({ defaults: false });
    const client = world.client({ observe: metrics.client('proxy') });
    const failures = Promise.withResolvers<void>();
    let failed = 0;
    const count = metrics.informer('configmaps');
    const informer: Informer<ConfigMap> = createInformer<ConfigMap>({
      client,
      resource: CONFIG_MAPS,
      selection: { namespace: test.namespace },
      log,
      random: () => 0,
      observe(event) {
        count(event);
        if (event === 'failure') failed += 1;
        if (failed === 2) failures.resolve();
      },
    });
    const probes = createProbes({
      port: 0,
      host: '127.0.0.1',
      ready: { caches: cachesSynced([informer]) },
      metrics,
    });
    await probes.start();
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${probes.port()}${path}`);
      return { status: answer.status, text: await answer.text() };
    };
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await within(failures.promise, 10_000, 'a second try');

    expect(lines.map(({ level }) => level)).toEqual(['warn']);
    expect(lines[0]?.message).toBe('configmaps: cannot list or watch, trying on');
    expect(String(lines[0]?.fields['error'])).toMatch(says);
    const unready = await ask('/readyz');
    expect(unready).toMatchObject({ status: 503, text: expect.stringMatching(/waiting for v1\/configmaps/) });
    expect(unready.text).toMatch(says);
    expect((await ask('/metrics')).text).toMatch(/reflector_failures_total\{name="configmaps"\} 2/);
    // Two tries, each with at most one watch and one list in its place.
    expect(proxy.requests.length + proxy.accepted() - before).toBeLessThanOrEqual(8);

    proxy.setRules(() => undefined);
    proxy.setConnectionFault(() => undefined);
    proxy.present('valid');
    await within(informer.whenSynced(), 10_000, 'the cache is filled');
    expect(await ask('/readyz')).toMatchObject({ status: 200 });
    expect(lines.slice(1).map(({ message }) => message)).toEqual(['configmaps: watching again']);
    stop.abort(new Error('over'));
    await running;
    await probes.stop();
    expect(crashes).toEqual([]);
  },
);
