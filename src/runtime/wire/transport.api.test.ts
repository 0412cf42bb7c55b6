import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { KubeObject } from '#api/meta.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '../cache/informer.ts';
import { createClient } from '../client/client.ts';
import { CONFIG_MAPS, useNamespace } from '../testing/test-namespace.ts';

const test = useNamespace('transport');
const { namespace } = test;

/** Starts a proxy that can fall silent: it then accepts bytes like a dead host's NAT, and forwards none. */
async function startProxy() {
  const target = new URL(test.endpoint.url);
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((near) => {
    accepted += 1;
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    endpoint: { ...test.endpoint, url: `https://127.0.0.1:${port}` },
    accepted: () => accepted,
    silence() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.removeAllListeners('data');
        socket.resume();
      }
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

it('reuses connections between calls, including deletions with preconditions', async () => {
  const proxy = await startProxy();
  const client = createClient(proxy.endpoint, { userAgent: 'test' });
  for (let round = 0; round < 20; round += 1) {
    const made: KubeObject = await client.create(CONFIG_MAPS, { metadata: test.key('kept') });
    await client.delete(CONFIG_MAPS, test.key('kept'), { preconditions: { uid: made.metadata.uid } });
    expect(await client.find(CONFIG_MAPS, test.key('kept'))).toBeUndefined();
  }
  // The pool may need a second connection before it knows that the first is free.
  expect(proxy.accepted()).toBeLessThan(5);
  await client.close();
  proxy.close();
});

it('runs many watches and calls over few connections', async () => {
  const proxy = await startProxy();
  const client = createClient(proxy.endpoint, { userAgent: 'test' });
  const { metadata } = await client.list(CONFIG_MAPS, { namespace });
  const stop = new AbortController();
  const seen = Array.from({ length: 250 }, () => Promise.withResolvers<string>());
  const watches = seen.map((first) =>
    client.watch<KubeObject>(
      CONFIG_MAPS,
      {
        namespace,
        // The namespace is new, and the server's controllers create objects in it.
        fieldSelector: 'metadata.name=many',
        resourceVersion: metadata.resourceVersion,
        signal: stop.signal,
      },
      ({ object }) => first.resolve(object.metadata.name ?? ''),
    ),
  );
  await client.create(CONFIG_MAPS, { metadata: { namespace, name: 'many' } });
  const names = await Promise.all(seen.map(({ promise }) => promise));
  expect(new Set(names)).toEqual(new Set(['many']));
  // Each connection has 100 streams; one or two more are for calls.
  expect(proxy.accepted()).toBeLessThanOrEqual(6);
  stop.abort(new Error('enough'));
  const outcomes = await Promise.allSettled(watches);
  expect(
    outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason.message === 'enough'),
  ).toBe(true);
  await client.close();
  proxy.close();
});

it('detects a silent connection by PINGs and continues, but keeps a quiet healthy watch', async () => {
  const proxy = await startProxy();
  const log = createLogger('silent');
  const timing = { userAgent: 'test', pingIntervalMs: 100, silenceMs: 800 };
  const broken = createClient(proxy.endpoint, timing);
  const healthy = createClient(test.endpoint, timing);
  const counts = { broken: 0, healthy: 0 };
  const informers = [
    createInformer({
      client: broken,
      resource: CONFIG_MAPS,
      selection: { namespace },
      log,
      observe: (event) => {
        if (event === 'watch') counts.broken += 1;
      },
    }),
    createInformer({
      client: healthy,
      resource: CONFIG_MAPS,
      selection: { namespace },
      log,
      observe: (event) => {
        if (event === 'watch') counts.healthy += 1;
      },
    }),
  ];
  const stop = new AbortController();
  const running = informers.map((informer) => informer.run(stop.signal));
  await Promise.all(informers.map((informer) => informer.whenSynced()));
  const heard = Promise.withResolvers<void>();
  informers[0]?.addHandler({ add: (object) => object.metadata.name === 'after' && heard.resolve() });
  // First comes a quiet time longer than the limit, which must cut nothing.
  await new Promise((resolve) => setTimeout(resolve, 2000));
  expect(counts).toEqual({ broken: 1, healthy: 1 });
  proxy.silence();
  await test.client.create(CONFIG_MAPS, { metadata: { namespace, name: 'after' } });
  await heard.promise;
  expect(counts).toEqual({ broken: 2, healthy: 1 });
  stop.abort();
  await Promise.all(running);
  await Promise.all([broken.close(), healthy.close()]);
  proxy.close();
});
