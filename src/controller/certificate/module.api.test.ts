import { X509Certificate } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '#api/networking.ts';
import { createLogger } from '#base/log.ts';
import { createAuthority, createServerCertificate, type KeyPair } from '#certificates/certificates.ts';
import type { Recorder } from '#runtime/events/recorder.ts';
import { createManager } from '#runtime/process/manager.ts';
import { createMetrics } from '#runtime/process/metrics.ts';
import { quietHost } from '#runtime/testing/quiet-host.fixture.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { apiServersOf } from './api-servers.ts';
import { certificateModule } from './module.ts';

const test = useNamespace('certificate');
const names = ['matryoshka-webhook.matryoshka-system.svc', 'matryoshka-server'];
const at = (fromNowMs: number) => new Date(Date.now() + fromNowMs);

let stop: (() => Promise<unknown>) | undefined;
afterEach(() => stop?.());

const LATER = new Date('2999-01-01');

/**
 * Starts the controller; `warned` resolves at the Event that reports the problem. `apiServer`: the end of the API server's
 * certificate.
 */
function start({
  expected = 'CertificateNotRenewed',
  apiServer = LATER,
  metrics = createMetrics({ defaults: false }),
} = {}): {
  warned: Promise<string>;
} {
  const said = Promise.withResolvers<string>();
  const log = createLogger('silent');
  const recorder: Recorder = {
    event: (_secret, type, reason, message) => {
      if (type === 'Warning' && reason === expected) said.resolve(message);
    },
    stop: async () => {},
  };
  const { client, namespace } = test;
  const host = quietHost({ client, namespace, log, recorder, metrics });
  const controllers = certificateModule({ servedUntil: async () => apiServer })(host);
  const ending = new AbortController();
  const ended = createManager({ caches: host.informers, controllers, log }).run(ending.signal);
  stop = () => {
    ending.abort(new Error('stop'));
    return ended;
  };
  return { warned: said.promise };
}

async function put(name: string, { cert, key }: KeyPair): Promise<void> {
  const { client, namespace } = test;
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    type: 'kubernetes.io/tls',
    data: secretData({ 'tls.crt': cert, 'tls.key': key }),
  };
  await client.apply(SECRETS, secret, { fieldManager: 'bootstrap', force: true });
}
const shown = async (name = 'matryoshka-server-tls'): Promise<KeyPair> => {
  const secret = await test.client.get<Secret>(SECRETS, test.key(name));
  return { cert: secretText(secret, 'tls.crt') ?? '', key: secretText(secret, 'tls.key') ?? '' };
};

it.each(['matryoshka-server-tls', 'matryoshka-webhook-tls'])(
  'renews %s from its authority before the old certificate expires, repeatedly',
  async (name) => {
    const authority = await createAuthority();
    const first = await createServerCertificate(authority, names, ['192.0.2.1'], {
      notBefore: at(-6000),
      notAfter: at(6000),
    });
    await put('matryoshka-ca', authority);
    await put(name, first);
    start();
    const another = async (last: KeyPair): Promise<KeyPair> => {
      await expect.poll(async () => (await shown(name)).cert, { timeout: 15_000 }).not.toBe(last.cert);
      // The former certificate was still valid when the next one was there.
      expect(new X509Certificate(last.cert).validToDate.getTime()).toBeGreaterThan(Date.now());
      return shown(name);
    };
    const second = await another(first);
    const certificate = new X509Certificate(second.cert);
    expect(certificate.verify(new X509Certificate(authority.cert).publicKey)).toBe(true);
    expect(certificate.checkHost(names[0] ?? '')).toBe(names[0]);
    expect(certificate.checkIP('192.0.2.1')).toBe('192.0.2.1');
    expect(second.key).not.toBe(first.key);
    await another(second);
  },
  40_000,
);

it('keeps a certificate of another authority, and warns', async () => {
  const theirs = await createServerCertificate(await createAuthority(), names, [], {
    notBefore: at(-60_000),
    notAfter: at(1000),
  });
  await put('matryoshka-ca', await createAuthority());
  await put('matryoshka-server-tls', theirs);
  await start().warned;
  expect(await shown()).toEqual(theirs);
});

it('warns if the authority itself expires', async () => {
  const authority = await createAuthority();
  const notAfter = new X509Certificate(authority.cert).validToDate;
  const last = await createServerCertificate(authority, names, [], { notBefore: new Date(0), notAfter });
  await put('matryoshka-ca', authority);
  await put('matryoshka-server-tls', last);
  // Less than a third of the certificate's lifetime is left, but the authority expires too, so renewal gains nothing.
  await start().warned;
  expect(await shown()).toEqual(last);
});

it('finds all API servers of the cluster', async () => {
  const [one, two] = ['https://192.0.2.11:6443', 'https://[2001:db8::12]:6443'];
  const key = { namespace: 'default', name: 'kubernetes' };
  const slice = (addressType: string, ...addresses: string[]): EndpointSlice => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: key,
    addressType,
    endpoints: addresses.map((address) => ({ addresses: [address] })),
    ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  });
  expect(await apiServersOf(test.client, one)).toEqual([one]);
  for (const [type, address, url] of [
    ['IPv4', '192.0.2.11', one],
    ['IPv6', '2001:db8::12', two],
  ] as const) {
    await test.client.apply(ENDPOINT_SLICES, slice(type, address), { fieldManager: 'test', force: true });
    expect(await apiServersOf(test.client, 'https://127.0.0.1:1')).toEqual([url]);
    await test.client.delete(ENDPOINT_SLICES, key);
  }
});

it('announces the end of the certificates of the meta cluster, and has the ends of all as metrics', async () => {
  const authority = await createAuthority();
  const pair = await createServerCertificate(authority, names, [], {
    notBefore: at(0),
    notAfter: new Date('2990-01-01'),
  });
  await put('matryoshka-ca', authority);
  await put('matryoshka-server-tls', pair);
  const apiServer = at(20 * 86_400_000);
  const metrics = createMetrics({ defaults: false });
  const message = await start({ expected: 'MetaCertificatesEndSoon', apiServer, metrics }).warned;
  expect(message).toBe(
    `the certificates of the meta cluster end at ${apiServer.toISOString()}; run "matryoshka bootstrap" again before, which renews them`,
  );
  const ends = /^certificate_expiry_timestamp_seconds\{name="(.*)"\} (.*)$/gm;
  await expect
    .poll(async () =>
      Object.fromEntries(
        [...(await metrics.registry.metrics()).matchAll(ends)].map(([, name, end]) => [name, Number(end)]),
      ),
    )
    .toMatchObject({
      'meta-cluster': apiServer.getTime() / 1000,
      'matryoshka-server-tls': Date.parse('2990-01-01') / 1000,
    });
});
