import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, host, body, create, secretOf } = asksOfAlice(() => world);
const nothingMade = async (name: string) => {
  expect(await world.cluster(name)).toBeUndefined();
  expect(await secretOf(name)).toBeUndefined();
};

describe('a request with invalid input', () => {
  const pkcs8 = generateKeyPairSync('ed25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    .toString();
  it.each<[string, object, number, unknown]>([
    ['a wrong type', { nodeList: 'x' }, 400, { field: 'nodeList', value: 'x' }],
    ['a wrong type deep inside', { masterList: [{ ip: 7 }] }, 400, { field: 'masterList[0].ip', value: 7 }],
    [
      'a bad IP',
      { masterList: [{ ip: '10.9.0.300' }] },
      422,
      { field: 'masterList[0].ip', value: '10.9.0.300' },
    ],
    ['a bad CIDR', { podCIDR: '10.0.0.1/8' }, 422, { field: 'podCIDR', value: '10.0.0.1/8' }],
    ['overlapping CIDRs', { serviceCIDR: '10.244.0.0/24' }, 422, { field: 'serviceCIDR' }],
    [
      'a pair of CIDRs with a space',
      { podCIDR: '10.244.0.0/16, fd01::/56' },
      422,
      { field: 'podCIDR', reason: expect.stringContaining('has white space') },
    ],
    [
      'two families for pods alone',
      { podCIDR: '10.244.0.0/16,fd01::/56' },
      422,
      { field: 'serviceCIDR', reason: expect.stringContaining('is IPv4, and podCIDR is IPv4 and IPv6') },
    ],
    [
      'a host in a CIDR',
      { nodeList: [host(2), host(2), { ip: '10.244.0.9' }] },
      422,
      { field: 'nodeList[2].ip' },
    ],
    ['an unknown version', { kubeVersion: 'v1.1.1' }, 422, { field: 'kubeVersion', value: 'v1.1.1' }],
    ['a type that is not offered', { clusterType: 'k3s' }, 422, { field: 'clusterType', value: 'k3s' }],
    ['no master', { masterList: [] }, 422, { field: 'masterList' }],
    ['a key that is no key', { privateSSHKey: 'sesame' }, 422, { field: 'privateSSHKey' }],
    ['a locked key', { privateSSHKey: pkcs8 }, 422, { field: 'privateSSHKey' }],
    ['no key', { privateSSHKey: '' }, 422, { field: 'privateSSHKey' }],
    ['another region', { region: 'south' }, 422, { field: 'region', value: 'south' }],
    ['another name', { name: 'other' }, 422, { field: 'name', value: 'other' }],
    ['minutes that are none', { timeoutMins: 'soon' }, 422, { field: 'timeoutMins', value: 'soon' }],
  ])('gets an error with the field: %s', async (_what, more, status, problem) => {
    const answer = await create('bad', more);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({
      code: status === 400 ? 'Bad Request' : 'Unprocessable Entity',
      errors: expect.arrayContaining([expect.objectContaining(problem)]),
    });
    expect(answer.text).not.toMatch(/sesame|BEGIN [A-Z]|node_modules|\.ts:/);
    await nothingMade('bad');
  });

  it.each([
    ['broken JSON', '{"masterList":', 400],
    ['no object', '[]', 400],
    ['an empty body', '', 422],
    ['a poisoned prototype', '{"__proto__":{"x":1}}', 400],
    ['too much', JSON.stringify({ privateSSHKey: 'x'.repeat(1_100_000) }), 413],
    ['too deep', `{"masterList":${'['.repeat(5000)}${']'.repeat(5000)}}`, 400],
  ])('gets an error: %s', async (_what, text, status) => {
    const answer = await world.call(alice(), 'POST', path('bad'), text);
    expect([answer.status, answer.text]).toEqual([status, expect.not.stringMatching(/node_modules|stack/)]);
    expect(answer.body).toMatchObject({ code: expect.any(String), message: expect.any(String) });
    await nothingMade('bad');
  });

  it('gets 422 for a name that is not a DNS label', async () => {
    for (const name of ['Bad', 'a_b', '-a', 'a'.repeat(41), 'a%2fb'])
      expect([name, (await world.call(alice(), 'POST', path(name), body())).status]).toEqual([name, 422]);
  });

  it('gets 401 for a missing, wrong, foreign or callback token', async () => {
    const { namespace } = world;
    const other = await world.tokenOf(namespace, 'alice', { audiences: ['somebody-else'] });
    const callback = await world.tokenOf(namespace, 'alice', { audiences: ['matryoshka-callback'] });
    for (const token of [undefined, '', 'x', 'x.y.z', 'a b', other, callback]) {
      const answer = await world.call(token, 'POST', path('bad'), body());
      expect([token, answer.status]).toEqual([token, 401]);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
    await nothingMade('bad');
    const named = await world.tokenOf(namespace, 'alice', { audiences: ['matryoshka'] });
    expect((await world.call(named, 'GET', `/clusters?namespace=${namespace}`)).status).toBe(200);
  });

  it('gets all missing fields, the right spelling, or the place of broken JSON', async () => {
    const post = (payload: unknown) => world.call(alice(), 'POST', path('bad'), payload);
    expect((await post({})).body).toMatchObject({
      errors: [{ field: 'privateSSHKey' }, { field: 'masterList' }],
    });
    expect(await post(body({ podCidr: '10.1.0.0/16' }))).toMatchObject({
      status: 422,
      body: { message: 'podCidr is not a field; did you mean podCIDR?' },
    });
    const broken = await post('{"privateSSHKey": "sesame",\n x}');
    expect(broken).toMatchObject({
      status: 400,
      body: { message: 'the body is not valid JSON; it breaks at line 2, column 2' },
    });
    expect((await post(body({ clusterType: 'k3s' }))).body).toMatchObject({
      message: 'clusterType "k3s" is not offered; choose "kubernetes"',
    });
    await nothingMade('bad');
  });

  it('gets 405 for an unsupported method, with the allowed methods', async () => {
    for (const method of ['PUT', 'PATCH', 'TRACE', 'QUERY', 'OPTIONS'] as const) {
      const answer = await world.app.inject({ method, url: `/api/v1${path('demo')}`, payload: '{}' });
      expect([method, answer.statusCode, answer.headers['allow']]).toEqual([
        method,
        405,
        'DELETE, GET, HEAD, POST',
      ]);
    }
    const logs = await world.app.inject({ method: 'POST', url: `/api/v1${path('demo', '/logs')}` });
    expect([logs.statusCode, logs.headers['allow']]).toEqual([405, 'GET, HEAD']);
    expect((await world.app.inject({ method: 'PUT', url: '/api/v1/nonsense' })).statusCode).toBe(404);
  });

  it('gets 422 for an invalid name in the path, of any length', async () => {
    for (const name of ['n'.repeat(301), '°'.repeat(500)]) {
      const answer = await world.call(alice(), 'GET', path(encodeURIComponent(name), '/kubeconfig'));
      expect(answer).toMatchObject({
        status: 422,
        body: { errors: expect.arrayContaining([expect.objectContaining({ field: 'name' })]) },
      });
    }
  });

  it('gets 431 for headers longer than 16 KiB', async () => {
    const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const answer = await fetch(`${url}/api/v1/clusters?continue=${'a'.repeat(20_000)}`);
    expect([answer.status, await answer.json()]).toEqual([
      431,
      { code: 'Request Header Fields Too Large', message: 'the headers and the path are longer than 16 KiB' },
    ]);
  });

  it('gets 404 for unknown routes, and 400 for unknown parameters', async () => {
    expect((await world.call(alice(), 'GET', '/nonsense')).body).toMatchObject({ code: 'Not Found' });
    expect((await world.call(alice(), 'GET', '/clusters?colour=red')).status).toBe(400);
    expect((await world.call(alice(), 'GET', '/clusters?limit=9999')).status).toBe(422);
    const missing = `/region/north/cluster/a?namespace=nosuch-${world.namespace}`;
    expect((await world.call(alice(), 'POST', missing, body())).status).toBe(403);
  });
});
