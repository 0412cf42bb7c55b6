import { beforeAll, describe, expect, it, vi } from 'vitest';
import { SECRETS, secretData } from '#api/core.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress, type IngressClass } from '#api/networking.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { useApiServer } from '#runtime/testing/own-api-server.ts';
import { CONTROLLER_NAME } from '../routing/classes.ts';
import { useIngresses } from '../testing/ingress-world.fixture.ts';

/**
 * Runs each scenario of upstream's suite (kubernetes-sigs/ingress-controller-conformance), in its five features, and some
 * that follow from a change. This file has its own API server, because a default backend covers the whole cluster.
 */
const test = useIngresses(undefined, useApiServer());
/** Waits for a value, also in hooks, where expect.poll is not available. */
const becomes = (probe: () => Promise<unknown>, value: unknown) =>
  vi.waitFor(async () => expect(await probe()).toEqual(value), { timeout: 20_000, interval: 50 });
/** Returns the name of the endpoint that answered, or the status. */
const servedBy = (host: string, path?: string, ca?: string) => async () => {
  const { status, text } = await test.ask(host, path, ca === undefined ? {} : { ca });
  return status === 200 ? text : status;
};
const ADDRESS = [{ ip: '192.0.2.7' }];
const addresses = async (name: string) =>
  (await test.client.get<Ingress>(INGRESSES, test.key(name))).status?.loadBalancer?.ingress;
const exposed = (name: string) => becomes(() => addresses(name), ADDRESS);
const toAll = (service: string) => ({ defaultBackend: { service: { name: service, port: { number: 80 } } } });

beforeAll(() => test.reachedAt(ADDRESS));

describe('the default backend', () => {
  beforeAll(async () => {
    await test.service('default', ['default']);
    await test.ingress('default', [], toAll('default'));
    await exposed('default');
    await becomes(servedBy('anybody'), 'default');
  });

  it.each([
    ['GET', 'my-host', '/'],
    ['GET', 'my-host', '/sub-path'],
    ['POST', 'some-host', '/'],
    ['PUT', '', '/resource'],
    ['DELETE', 'some-host', '/resource'],
    ['PATCH', 'my-host', '/resource'],
  ])('gets %s for host "%s" and path %s if the Ingress has no rules', async (method, host, path) => {
    const answer = await test.ask(host, path, { method });
    expect(answer).toMatchObject({ status: 200, text: 'default', version: '1.1' });
    expect(answer.asked).toBe(`${method} ${path} HTTP/1.1 ${host} asking`);
    expect(answer.headers).toMatchObject({
      ...{ 'content-length': '7', 'content-type': 'text/plain' },
      ...{ date: expect.stringMatching(/ GMT$/), server: expect.stringMatching(/./) },
    });
  });

  it('gets no request once its Ingress is deleted', async () => {
    await test.client.delete(INGRESSES, test.key('default'));
    await becomes(servedBy('anybody'), 404);
  });
});

describe('host rules', () => {
  let ca = '';
  beforeAll(async () => {
    const authority = await createAuthority();
    ca = authority.cert;
    const { cert, key } = await createServerCertificate(authority, ['foo.bar.example'], []);
    await test.client.create(SECRETS, {
      metadata: test.key('tls'),
      ...{ type: 'kubernetes.io/tls', data: secretData({ 'tls.crt': cert, 'tls.key': key }) },
    });
    for (const name of ['wild', 'exact']) await test.service(`host-${name}`, [name]);
    await test.ingress(
      'hosts',
      [
        ['*.foo.example', '/', 'host-wild'],
        ['foo.bar.example', '/', 'host-exact'],
      ],
      { tls: [{ hosts: ['foo.bar.example'], secretName: 'tls' }] },
    );
    await exposed('hosts');
    await becomes(servedBy('foo.bar.example'), 'exact');
  });

  it('reach the backend over TLS with the certificate of the host', async () => {
    await becomes(servedBy('foo.bar.example', '/', ca), 'exact');
  });
  it.each([
    ['exactly', 'foo.bar.example', 'exact'],
    ['exactly, in capitals', 'FOO.bar.example', 'exact'],
    ['not another name beside it', 'other.bar.example', 404],
    ['any one label in the place of "*"', 'bar.foo.example', 'wild'],
    ['not two labels', 'baz.bar.foo.example', 404],
    ['not none', 'foo.example', 404],
  ])('match %s: %s', async (_how, host, expected) => {
    const { status, text, asked } = await test.ask(host);
    expect(status === 200 ? text : status).toBe(expected);
    if (status === 200) expect(asked).toBe(`GET / HTTP/1.1 ${host} asking`);
  });
});

describe('path rules', () => {
  const RULES = [
    ['exact', '/foo', 'foo-exact', 'Exact'],
    ['prefix', '/foo', 'foo-prefix'],
    ['prefix', '/aaa/bbb', 'aaa-bbb'],
    ['prefix', '/aaa', 'aaa'],
    ['mixed', '/foo', 'foo-prefix'],
    ['mixed', '/foo', 'foo-exact', 'Exact'],
    ['slash', '/aaa/bbb/', 'aaa-bbb-slash'],
    ['slash', '/foo/', 'foo-slash', 'Exact'],
    ['own', '/', 'aaa'],
    ['own', '/foo/bar', 'aaa-bbb', 'ImplementationSpecific'],
  ] as const;
  beforeAll(async () => {
    for (const name of new Set(RULES.map(([, , name]) => name))) await test.service(`path-${name}`, [name]);
    await test.ingress(
      'paths',
      RULES.map(([host, path, name, type = 'Prefix']) => [host, path, `path-${name}`, type]),
    );
    await exposed('paths');
    await becomes(servedBy('exact', '/foo'), 'foo-exact');
  });

  it.each([
    ['exact', '/foo', 'foo-exact'],
    ['exact', '/foo/', 404],
    ['exact', '/FOO', 404],
    ['exact', '/bar', 404],
    ['prefix', '/foo', 'foo-prefix'],
    ['prefix', '/foo/', 'foo-prefix'],
    ['prefix', '/FOO', 404],
    ['prefix', '/aaa/bbb', 'aaa-bbb'],
    ['prefix', '/aaa/bbb/ccc', 'aaa-bbb'],
    ['prefix', '/aaa/ccc', 'aaa'],
    ['prefix', '/aaaccc', 404],
    ['mixed', '/foo', 'foo-exact'],
    ['mixed', '/foo/', 'foo-prefix'],
    ['slash', '/aaa/bbb', 'aaa-bbb-slash'],
    ['slash', '/aaa/bbb/', 'aaa-bbb-slash'],
    ['slash', '/foo', 404],
    ['slash', '/foo/', 'foo-slash'],
    ['own', '/fooo?x=/foo/bar', 'aaa'],
    ['own', '/foo/bar/x?y', 'aaa-bbb'],
  ])('for host "%s" send %s to %s', async (host, path, expected) => {
    expect(await servedBy(host, path)()).toBe(expected);
  });
});

describe('the class', () => {
  const mine = async (name: string, spec: Ingress['spec'] & {}, host = `${name}.example`) => {
    await test.ingress(name, [[host, '/', 'class']], spec);
    return host;
  };
  it('gives an Ingress neither an address nor requests until it exists', async () => {
    await test.service('class', ['class']);
    const name = `${test.namespace}-class`;
    const host = await mine('classless', { ingressClassName: name });
    const control = await mine('control', {});
    await exposed('control');
    await becomes(servedBy(control), 'class');
    expect([await addresses('classless'), await servedBy(host)()]).toEqual([undefined, 404]);
    const made: IngressClass = { metadata: { name }, spec: { controller: CONTROLLER_NAME } };
    await test.client.create<IngressClass>(INGRESS_CLASSES, made);
    await exposed('classless');
    await becomes(servedBy(host), 'class');
  });
  it('excludes an Ingress if it belongs to another controller, until the Ingress gets ours', async () => {
    const name = `${test.namespace}-foreign`;
    const foreign: IngressClass = { metadata: { name }, spec: { controller: 'example.com/other' } };
    await test.client.create<IngressClass>(INGRESS_CLASSES, foreign);
    const host = await mine('foreign', { ingressClassName: name });
    const control = await mine('beside', {});
    await exposed('beside');
    await becomes(servedBy(control), 'class');
    expect([await addresses('foreign'), await servedBy(host)()]).toEqual([undefined, 404]);
    const spec = { ingressClassName: 'matryoshka' };
    await test.client.patch(INGRESSES, test.key('foreign'), { spec }, { type: 'merge' });
    await becomes(servedBy(host), 'class');
  });
});

describe('load balancing', () => {
  const TEN = Array.from({ length: 10 }, (_, at) => `pod-${at}`);
  it('uses every endpoint that is ready, and follows them', async () => {
    await test.service('many', TEN.slice(0, 1));
    await test.ingress('many', [], toAll('many'));
    await exposed('many');
    await becomes(servedBy('load-balancing'), 'pod-0');
    await test.sliceOf('many', TEN);
    const seen = async () => {
      const names = new Set<unknown>();
      for (let times = 0; times < 100; times += 1) names.add(await servedBy('load-balancing')());
      return [...names].sort();
    };
    await becomes(seen, TEN);
    await test.sliceOf('many', ['pod-0', ...TEN.slice(1).map(() => '')]);
    await becomes(seen, ['pod-0']);
    await test.sliceOf('many', ['']);
    await becomes(servedBy('load-balancing'), 503);
  });
});

it('basic-auth-secret gives 401 without credentials, and 503 while the Secret is missing', async () => {
  await test.service('guarded', ['guarded']);
  const { metadata } = await test.ingress('guarded', [['guarded.example', '/', 'guarded']]);
  const annotations = { 'ingress.ecs.yun.com/basic-auth-secret': 'people' };
  await test.client.patch(
    INGRESSES,
    test.key('guarded'),
    { metadata: { uid: metadata.uid, annotations } },
    { type: 'merge' },
  );
  await becomes(servedBy('guarded.example'), 503);
  await test.client.create(SECRETS, {
    metadata: test.key('people'),
    ...{ type: 'kubernetes.io/basic-auth', data: secretData({ username: 'jo', password: 'p' }) },
  });
  await becomes(servedBy('guarded.example'), 401);
  await test.client.delete(SECRETS, test.key('people'));
  await becomes(servedBy('guarded.example'), 503);
});
