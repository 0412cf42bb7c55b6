import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { SECRETS, SERVICES, secretData } from '#api/core.ts';
import { INGRESS_CLASSES, INGRESSES, type Ingress, type IngressClass } from '#api/networking.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { ingress } from '#controller/ingress/module.ts';
import { namespaceOf, serverNameOf } from '#controller/installation.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { type Fault, failingWrites } from './testing/failing-writes.fixture.ts';
import { useIngresses } from './testing/ingress-world.fixture.ts';

/**
 * Ingresses on a real API server, through the proxy. The first groups are the features of upstream's own suite
 * (kubernetes-sigs/ingress-controller-conformance): default backend, host rules, path rules, ingress class, load balancing.
 */
const { faults, seen, failing } = failingWrites((): string => test.namespace);
const test = useIngresses(failing);
const until = (look: () => Promise<unknown>) => expect.poll(look, { timeout: 20_000 });
const text = (host: string, path?: string) => async () => {
  const { status, text } = await test.ask(host, path);
  return status === 200 ? text : status;
};
const remove = (name: string) => test.client.delete(INGRESSES, test.key(name));
const addresses = async (name: string) =>
  (await test.client.get<Ingress>(INGRESSES, test.key(name))).status?.loadBalancer?.ingress;
const others: string[] = [];
afterAll(async () => {
  for (const name of others) await test.client.delete(NAMESPACES, { namespace: '', name });
});
async function otherNamespace(): Promise<string> {
  const name = `${test.namespace}-other-${others.length}`;
  await test.client.create(NAMESPACES, { metadata: { name } });
  others.push(name);
  return name;
}

describe('the default backend', () => {
  it('of an Ingress without rules gets every request, whatever its host, path and method are', async () => {
    await test.service('default', ['default']);
    await test.ingress('default', [], {
      defaultBackend: { service: { name: 'default', port: { number: 80 } } },
    });
    await until(text(test.host('nobody'))).toBe('default');
    expect(await text('', '/any/path')()).toBe('default');
    await remove('default');
    await until(text(test.host('nobody'))).toBe(404);
  });
});

describe('host rules', () => {
  it('are exact, or cover one label', async () => {
    for (const name of ['exact', 'wild']) await test.service(`host-${name}`, [name]);
    const [foo, wild] = [test.host('foo.bar'), test.host('*.bar')];
    await test.ingress('hosts', [
      [foo, '/', 'host-exact'],
      [wild, '/', 'host-wild'],
    ]);
    await until(text(foo)).toBe('exact');
    expect(await text(foo.toUpperCase())()).toBe('exact');
    expect(await text(test.host('other.bar'))()).toBe('wild');
    expect(await text(test.host('baz.other.bar'))()).toBe(404);
    expect(await text(test.host('bar'))()).toBe(404);
  });
});

describe('path rules', () => {
  it('are exact, or by elements; the longest wins, and exact before prefix', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await test.service(`path-${name}`, [name]);
    const host = test.host('paths');
    await test.ingress('paths', [
      [host, '/', 'path-a'],
      [host, '/foo', 'path-b'],
      [host, '/foo', 'path-c', 'Exact'],
      [host, '/foo/bar/', 'path-d', 'ImplementationSpecific'],
    ]);
    await until(text(host)).toBe('a');
    const found = {
      '/foo': 'c',
      '/foo/': 'b',
      '/foo/x?y=/foo': 'b',
      '/foo/bar': 'd',
      '/foo/bar/x': 'd',
      '/fooo': 'a',
      '/FOO': 'a',
    };
    for (const [path, name] of Object.entries(found))
      expect([path, await text(host, path)()]).toEqual([path, name]);
  });
});

describe('the class', () => {
  it('says whether an Ingress is ours, and one of another is left alone', async () => {
    await test.service('class', ['class']);
    const name = `${test.namespace}-foreign`;
    const foreign: IngressClass = { metadata: { name }, spec: { controller: 'example.com/other' } };
    await test.client.create<IngressClass>(INGRESS_CLASSES, foreign);
    const host = test.host('class');
    await test.ingress('class', [[host, '/', 'class']], { ingressClassName: name });
    await test.ingress('control', [[test.host('control'), '/', 'class']]);
    await until(text(test.host('control'))).toBe('class');
    expect(await text(host)()).toBe(404);
    const spec = { ingressClassName: 'matryoshka' };
    await test.client.patch(INGRESSES, test.key('class'), { spec }, { type: 'merge' });
    await until(text(host)).toBe('class');
    await test.client.delete(INGRESS_CLASSES, { namespace: '', name });
  });
});

describe('load balancing', () => {
  it('uses every endpoint that is ready, and follows them', async () => {
    await test.service('many', ['one', 'two', 'three']);
    const host = test.host('many');
    await test.ingress('many', [[host, '/', 'many']]);
    await until(text(host)).toMatch(/one|two|three/);
    const seen = async () => {
      const names = new Set<unknown>();
      for (let times = 0; times < 12; times += 1) names.add(await text(host)());
      return [...names].sort();
    };
    expect(await seen()).toEqual(['one', 'three', 'two']);
    await test.sliceOf('many', ['one', '', '']);
    await until(seen).toEqual(['one']);
    await test.sliceOf('many', ['']);
    await until(text(host)).toBe(503);
    await test.client.delete(SERVICES, test.key('many'));
    await until(test.told).toContainEqual('Warning BackendNotFound: there is no Service "many"');
    expect(await text(host)()).toBe(503);
  });
});

describe('a host', () => {
  it('that an older Ingress of another namespace holds is refused, until that one goes', async () => {
    const host = test.host('held');
    const other = await otherNamespace();
    await test.service('theirs', ['theirs'], other);
    await test.service('mine', ['mine']);
    await test.ingress('theirs', [[host, '/', 'theirs']], {}, other);
    await until(text(host)).toBe('theirs');
    // Of the same second it would be the younger one as well: by its name.
    await test.ingress('young', [[host, '/mine', 'mine']]);
    await until(test.told).toContainEqual(
      expect.stringMatching(/^Warning HostTaken: host "held.* another namespace/),
    );
    expect(await text(host, '/mine')()).toBe('theirs');
    await test.client.delete(INGRESSES, { namespace: other, name: 'theirs' });
    await until(text(host, '/mine')).toBe('mine');
    expect(await text(host)()).toBe(404);
  });
});

describe('the status', () => {
  it('has the addresses of the proxy’s Service, and loses what somebody else wrote', async () => {
    await test.service('status', ['status']);
    await test.ingress('status', [[test.host('status'), '/', 'status']]);
    const service = { namespace: namespaceOf(ingress), name: serverNameOf(ingress) };
    const told = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } } };
    await test.client.patch(SERVICES, service, told, { type: 'merge', subresource: 'status' });
    await until(() => addresses('status')).toEqual(
      [{ ip: '192.0.2.7', ipMode: undefined }].map(({ ip }) => ({ ip })),
    );
    const spoiled = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.66' }] } } };
    await test.client.patch(INGRESSES, test.key('status'), spoiled, { type: 'merge', subresource: 'status' });
    await until(() => addresses('status')).toEqual([{ ip: '192.0.2.7' }]);
    const gone = { status: { loadBalancer: { ingress: null } } };
    await test.client.patch(SERVICES, service, gone, { type: 'merge', subresource: 'status' });
    await until(() => addresses('status')).toBeUndefined();
  });
});

describe('a certificate', () => {
  const authority = createAuthority();
  const secret = async (cn: string, namespace = test.namespace, name = 'tls') => {
    const { cert, key } = await createServerCertificate(await authority, [cn], []);
    return {
      metadata: { namespace, name },
      type: 'kubernetes.io/tls',
      data: secretData({ 'tls.crt': cert, 'tls.key': key }),
    };
  };
  it('is the Secret’s of its own namespace, taken up when it changes; without one the proxy’s own', async () => {
    const [host, plain] = [test.host('tls'), test.host('plain')];
    await test.service('tls', ['tls']);
    await test.ingress(
      'tls',
      [
        [host, '/', 'tls'],
        [plain, '/', 'tls'],
      ],
      { tls: [{ hosts: [host], secretName: 'tls' }] },
    );
    await until(test.told).toContainEqual(
      'Warning CertificateMissing: there is no Secret "tls" of type kubernetes.io/tls; its hosts are shown another certificate of this namespace, else the proxy’s own',
    );
    // Of another namespace none is used, whatever its name is.
    await test.client.create(SECRETS, await secret('theirs', await otherNamespace()));
    expect(await test.shownFor(host)).toBe('own.invalid');
    await test.client.create(SECRETS, await secret('first'));
    await until(() => test.shownFor(host)).toBe('first');
    expect(await test.shownFor(plain)).toBe('own.invalid');
    await test.client.update(SECRETS, await secret('second'));
    await until(() => test.shownFor(host)).toBe('second');
    const { data } = await secret('third');
    const broken = { data: { 'tls.key': data['tls.key'] } };
    await test.client.patch(SECRETS, test.key('tls'), broken, { type: 'merge' });
    await until(() => test.shownFor(host)).toBe('own.invalid');
    await until(test.told).toContainEqual(
      expect.stringContaining('CertificateInvalid: Secret "tls": tls.key is not the key of tls.crt'),
    );
    expect(await text(host)()).toBe('tls');
  });

  it('of a wildcard of another namespace is not shown for a host that somebody holds', async () => {
    const [host, wild] = [test.host('one.shared'), test.host('*.shared')];
    const other = await otherNamespace();
    for (const where of [other, test.namespace]) await test.service('shared', ['shared'], where);
    await test.client.create(SECRETS, await secret('theirs', other, 'shared'));
    const tls = (name: string) => ({ tls: [{ hosts: [name], secretName: 'shared' }] });
    await test.ingress('shared', [[wild, '/', 'shared']], tls(wild), other);
    await until(() => test.shownFor(test.host('two.shared'))).toBe('theirs');
    expect(await test.shownFor(host)).toBe('theirs');
    await test.ingress('shared', [[host, '/', 'shared']], tls(host));
    await until(() => test.shownFor(host)).toBe('own.invalid');
    await test.client.create(SECRETS, await secret('mine', test.namespace, 'shared'));
    await until(() => test.shownFor(host)).toBe('mine');
    expect(await test.shownFor(test.host('two.shared'))).toBe('theirs');
  });
});

describe('the example', () => {
  const EXAMPLE = join(import.meta.dirname, '../../deploy/neighbours/examples/ingress.yaml');
  it('is served as it stands, but for its host', async () => {
    const host = test.host('shop');
    const written = readFileSync(EXAMPLE, 'utf8').replaceAll('shop.example.com', host);
    const object = z.looseObject({ kind: z.string(), metadata: z.object({ name: z.string() }) });
    const objects = parseAllDocuments(written).map((document) => object.parse(document.toJS()));
    const named = (kind: string) => objects.find((one) => one.kind === kind) ?? { metadata: { name: '' } };
    const [service, served] = [named('Service'), named('Ingress')];
    await test.client.create(SERVICES, { ...service, metadata: test.key(service.metadata.name) });
    await test.sliceOf(service.metadata.name, ['shop']);
    await test.client.create(INGRESSES, { ...served, metadata: test.key(served.metadata.name) });
    await until(text(host)).toBe('shop');
  });
});

describe('the proxy', () => {
  it('may write nothing, and read no Secret by its name', async () => {
    const client = await test.clientAs(serverNameOf(ingress));
    const forbidden = expect.objectContaining({ reason: 'Forbidden' });
    const key = test.key('tls');
    const patch = { metadata: { labels: { a: 'b' } } };
    for (const ask of [
      () => client.patch(INGRESSES, key, patch, { type: 'merge' }),
      () => client.patch(INGRESSES, key, patch, { type: 'merge', subresource: 'status' }),
      () => client.get(SECRETS, key),
      () => client.delete(SERVICES, key),
    ])
      await expect(ask()).rejects.toEqual(forbidden);
    await client.close();
  });

  it('drops no request while routes change', async () => {
    for (const name of ['x', 'y']) await test.service(`swap-${name}`, [name]);
    const host = test.host('swap');
    await test.ingress('swap', [[host, '/', 'swap-x']]);
    await until(text(host)).toBe('x');
    const seen: unknown[] = [];
    let isDone = false;
    const asking = Array.from({ length: 4 }, async () => {
      while (!isDone) seen.push(await text(host)());
    });
    for (let times = 0; times < 20; times += 1) {
      const service = { name: `swap-${times % 2 === 0 ? 'y' : 'x'}`, port: { name: 'http' } };
      const paths = [{ path: '/', pathType: 'Prefix', backend: { service } }];
      await test.client.patch(
        INGRESSES,
        test.key('swap'),
        { spec: { rules: [{ host, http: { paths } }] } },
        { type: 'merge' },
      );
    }
    await until(text(host)).toBe('x');
    isDone = true;
    await Promise.all(asking);
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.filter((one) => one !== 'x' && one !== 'y')).toEqual([]);
  });
});

describe('a write of the controller', () => {
  beforeEach(async () => {
    const told = { status: { loadBalancer: { ingress: [{ hostname: 'balancer.example' }] } } };
    const key = { namespace: namespaceOf(ingress), name: serverNameOf(ingress) };
    await test.client.patch(SERVICES, key, told, { type: 'merge', subresource: 'status' });
    await until(() => addresses('control')).toHaveLength(1);
    faults.splice(0);
  });

  it.each<[string, Fault[]]>([
    ['refused', [{ write: 'patch', reason: 'InternalError', isDone: false }]],
    ['done, and its answer is lost', [{ write: 'patch', reason: 'Connection', isDone: true }]],
    [
      'refused again and again',
      Array.from({ length: 4 }, () => ({ write: 'patch', reason: 'Timeout', isDone: false }) as const),
    ],
    ['too late', [{ write: 'patch', reason: 'Conflict', isDone: false }]],
  ])('a status that is %s is right in the end, and then nothing is written', async (how, planned) => {
    const name = `status-${how.replaceAll(/[^a-z]+/g, '-')}`;
    faults.push(...planned);
    await test.ingress(name, [[test.host(name), '/', 'none']]);
    if (planned[0]?.reason === 'Conflict') {
      // Whoever was first has written: his event wakes the key.
      await until(async () => faults.length).toBe(0);
      await test.client.patch(
        INGRESSES,
        test.key(name),
        { metadata: { labels: { a: 'b' } } },
        { type: 'merge' },
      );
    }
    await until(() => addresses(name)).toEqual([{ hostname: 'balancer.example' }]);
    expect(faults).toEqual([]);
    const before = seen.statusWrites;
    await test.client.patch(
      INGRESSES,
      test.key(name),
      { metadata: { labels: { c: 'd' } } },
      { type: 'merge' },
    );
    await test.ingress(`${name}-after`, [[test.host(`${name}-after`), '/', 'none']]);
    await until(() => addresses(`${name}-after`)).toHaveLength(1);
    expect(seen.statusWrites - before).toBe(1);
  });

  it('an Event that is lost on its way is told once', async () => {
    faults.push({ write: 'create', reason: 'Connection', isDone: true });
    await test.ingress('event', [[test.host('event'), '/', 'missing']]);
    const tellings = async () => (await test.told()).filter((one) => one.includes('"missing"'));
    await until(tellings).toHaveLength(1);
  });
});
