import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { SECRETS, SERVICES, secretData } from '#api/core.ts';
import { INGRESSES, type Ingress } from '#api/networking.ts';
import { createAuthority, createServerCertificate } from '#certificates/certificates.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { serverNameOf } from '../installation.ts';
import { ingress } from './addon.ts';
import { type Fault, failingWrites } from './testing/failing-writes.fixture.ts';
import { useIngresses } from './testing/ingress-world.fixture.ts';

/** Tests Ingresses on a real API server through the proxy. proxy/features.api.test.ts has upstream's own features. */
const { faults, seen, failing } = failingWrites((): string => test.namespace);
const test = useIngresses(failing);
const until = (probe: () => Promise<unknown>) => expect.poll(probe, { timeout: 20_000 });
const text = (host: string, path?: string) => async () => {
  const { status, text } = await test.ask(host, path);
  return status === 200 ? text : status;
};
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

/** Waits for an answer in hooks, where expect.poll is not available. */
const served = (host: string, name: string) =>
  vi.waitFor(async () => expect(await text(host)()).toBe(name), { timeout: 20_000, interval: 50 });
/** Stays served in every test, regardless of the other Ingresses. */
beforeAll(async () => {
  await test.service('steady', ['steady']);
  await test.ingress('steady', [[test.host('steady'), '/', 'steady']]);
  await served(test.host('steady'), 'steady');
});
afterEach(async () => {
  expect(await text(test.host('steady'))()).toBe('steady');
});

describe('a host', () => {
  let other = '';
  beforeAll(async () => {
    other = await otherNamespace();
    await test.service('theirs', ['theirs'], other);
    await test.service('mine', ['mine']);
  });
  // Ingresses of the same second are ordered by namespace and name, so this one would be the older one as well.
  const theirs = async (name: string, host: string) => {
    await test.ingress(name, [[host, '/', 'theirs']], {}, other);
    await until(text(host.replace('*', 'any'))).toBe('theirs');
  };
  const refused = (host: string) =>
    until(test.reported).toContainEqual(
      expect.stringMatching(`^Warning HostTaken: host "${host}" belongs.* another namespace`),
    );
  const gone = (name: string) => test.client.delete(INGRESSES, { namespace: other, name });

  it('is refused while an older Ingress of another namespace holds it', async () => {
    const host = test.host('held');
    await theirs('held', host);
    await test.ingress('young', [[host, '/mine', 'mine']]);
    await refused(host);
    expect(await text(host, '/mine')()).toBe('theirs');
    await gone('held');
    await until(text(host, '/mine')).toBe('mine');
    expect(await text(host)()).toBe(404);
  });

  it('is not taken by an edit either', async () => {
    const [host, before] = [test.host('edited'), test.host('before')];
    await theirs('edited', host);
    await test.ingress('edited', [[before, '/', 'mine']]);
    await until(text(before)).toBe('mine');
    const { spec } = await test.client.get<Ingress>(INGRESSES, test.key('edited'));
    const rules = spec?.rules?.map((rule) => ({ ...rule, host }));
    await test.client.patch(INGRESSES, test.key('edited'), { spec: { rules } }, { type: 'merge' });
    await refused(host);
    // The edit takes effect, except for that host.
    await until(text(before)).toBe(404);
    expect(await text(host)()).toBe('theirs');
    expect(await text(host, '/any')()).toBe('theirs');
    await gone('edited');
    await until(text(host)).toBe('mine');
  });

  it('is refused while an older wildcard of another namespace covers it', async () => {
    const [host, wild] = [test.host('one.covered'), test.host('*.covered')];
    await theirs('covering', wild);
    await test.ingress('covered', [[host, '/', 'mine']]);
    await refused(host);
    expect(await text(host)()).toBe('theirs');
    await gone('covering');
    await until(text(host)).toBe('mine');
  });

  it.each<[string, (host: string) => object, string]>([
    ['alone', () => ({ rules: [{ host: '*' }] }), 'spec.rules[0].host'],
    ['in the middle', (host) => ({ rules: [{ host: `a.*.${host}` }] }), 'spec.rules[0].host'],
    [
      'of a certificate, in the middle',
      (host) => ({ tls: [{ hosts: [`a.*.${host}`] }] }),
      'spec.tls[0].hosts',
    ],
  ])('is rejected by the API server with a wildcard %s', async (_where, spec, field) => {
    const asked = { ...toSteady, ...spec(test.host('wrong')) };
    const made = test.ingress('wrong', [], asked);
    await expect(made).rejects.toMatchObject({ reason: 'Invalid', message: expect.stringContaining(field) });
  });
  const toSteady = { defaultBackend: { service: { name: 'steady', port: { number: 80 } } } };
});

describe('a backend', () => {
  it('gives 503 without endpoints or without its Service, which is reported', async () => {
    await test.service('empty', ['']);
    const host = test.host('empty');
    await test.ingress('empty', [[host, '/', 'empty']]);
    await until(text(host)).toBe(503);
    await test.client.delete(SERVICES, test.key('empty'));
    await until(test.reported).toContainEqual('Warning BackendNotFound: there is no Service "empty"');
    expect(await text(host)()).toBe(503);
  });
});

describe('the status', () => {
  it('has the addresses of the proxy’s Service, and drops those of other writers', async () => {
    await test.service('status', ['status']);
    await test.ingress('status', [[test.host('status'), '/', 'status']]);
    await test.reachedAt([{ ip: '192.0.2.7' }]);
    await until(() => addresses('status')).toEqual([{ ip: '192.0.2.7' }]);
    const spoiled = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.66' }] } } };
    await test.client.patch(INGRESSES, test.key('status'), spoiled, { type: 'merge', subresource: 'status' });
    await until(() => addresses('status')).toEqual([{ ip: '192.0.2.7' }]);
    await test.reachedAt(undefined);
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
  it('comes from a Secret in its namespace, follows changes, and defaults to that of the proxy', async () => {
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
    await until(test.reported).toContainEqual(
      'Warning CertificateMissing: there is no Secret "tls" of type kubernetes.io/tls; its hosts are shown another certificate of this namespace, else the proxy’s own',
    );
    // A Secret of another namespace is never used, even under the right name.
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
    await until(test.reported).toContainEqual(
      expect.stringContaining('CertificateInvalid: Secret "tls": tls.key is not the key of tls.crt'),
    );
    expect(await text(host)()).toBe('tls');
  });

  it('is not shown for a host of another namespace that its wildcard covers', async () => {
    const [host, wild] = [test.host('one.shared'), test.host('*.shared')];
    const other = await otherNamespace();
    for (const where of [other, test.namespace]) await test.service('shared', ['shared'], where);
    const tls = (name: string) => ({ tls: [{ hosts: [name], secretName: 'shared' }] });
    await test.ingress('shared', [[host, '/', 'shared']], tls(host), other);
    await test.client.create(SECRETS, await secret('theirs', test.namespace, 'shared'));
    await test.ingress('shared', [[wild, '/', 'shared']], tls(wild));
    await until(() => test.shownFor(test.host('two.shared'))).toBe('theirs');
    expect(await test.shownFor(host)).toBe('own.invalid');
    await test.client.create(SECRETS, await secret('mine', other, 'shared'));
    await until(() => test.shownFor(host)).toBe('mine');
    expect(await test.shownFor(test.host('two.shared'))).toBe('theirs');
  });
});

describe('the example', () => {
  const EXAMPLE = join(import.meta.dirname, '../../../deploy/addons/examples/ingress.yaml');
  it('is served under another host', async () => {
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
  it('may write nothing, and get no Secret by name', async () => {
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
    await test.reachedAt([{ hostname: 'balancer.example' }]);
    await until(() => addresses('steady')).toHaveLength(1);
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
  ])('ends with the right status though it is %s, and then nothing is written', async (how, planned) => {
    const name = `status-${how.replaceAll(/[^a-z]+/g, '-')}`;
    faults.push(...planned);
    await test.ingress(name, [[test.host(name), '/', 'none']]);
    if (planned[0]?.reason === 'Conflict') {
      // A conflict means that another client wrote: the event of that write triggers the next reconcile.
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

  it('creates an Event once, though the answer was lost', async () => {
    faults.push({ write: 'create', reason: 'Connection', isDone: true });
    await test.ingress('event', [[test.host('event'), '/', 'missing']]);
    const notices = async () => (await test.reported()).filter((one) => one.includes('"missing"'));
    await until(notices).toHaveLength(1);
  });
});
