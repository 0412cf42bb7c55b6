import { readFile } from 'node:fs/promises';
import type { IncomingMessage, RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { secretData } from '#api/core.ts';
import type { Ingress } from '#api/networking.ts';
import { credentialsHash } from '../routing/access.ts';
import type { BackendRules } from '../routing/backends.ts';
import { SETTINGS_PREFIX, settingsOf } from '../routing/settings.ts';
import { closedPort, endpoint, useProxy } from './testing/proxy.fixture.ts';

/** Tests the annotations of an Ingress by the answers that a client of HAProxy gets. */
const test = useProxy();
const ofIngress = (annotations: Record<string, string>): Ingress => ({
  metadata: {
    name: 'i',
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [`${SETTINGS_PREFIX}${name}`, value]),
    ),
  },
});

let hosts = 0;
/** Creates a host whose Ingress has annotations; returns a function that sends a request to it. */
async function served(
  annotations: Record<string, string>,
  rule: { path: string; match: 'exact' | 'prefix' } = { path: '/', match: 'prefix' },
  endpoints?: readonly string[],
  access: Pick<BackendRules, 'basic' | 'auth'> = {},
) {
  hosts += 1;
  const host = `h${hosts}`;
  const { settings, problems } = settingsOf(ofIngress(annotations));
  expect(problems).toEqual([]);
  const where = endpoints ?? [await endpoint(({ url }, answer) => answer.end(`url ${url}`))];
  const paths = [{ ...rule, backend: `ns/${host}:80` }];
  await test.route(host, where, { paths, rules: { settings, rule, ...access } });
  return async (path = '/', fields = '', body = '') => {
    const head = `${body === '' ? 'GET' : 'POST'} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n`;
    const { text } = await test.raw(`${head}${fields}\r\n${body}`);
    return { status: Number(text.slice(9, 12)), text, host };
  };
}

it('redirect-to-https sends a client to the same host, path and query', async () => {
  const ask = await served({ 'redirect-to-https': 'true' });
  const { status, text, host } = await ask('/a?b=c');
  expect(status).toBe(308);
  expect(text).toMatch(new RegExp(`^location: https://${host}/a\\?b=c\\r$`, 'm'));
  expect((await (await served({ 'redirect-to-https': 'false' }))()).status).toBe(200);
});

it('allow-from refuses clients of other networks', async () => {
  expect((await (await served({ 'allow-from': '192.0.2.0/24' }))()).status).toBe(403);
  expect((await (await served({ 'allow-from': '192.0.2.0/24, 127.0.0.0/8' }))()).status).toBe(200);
});

it('timeout-seconds ends a request whose answer does not come', async () => {
  const silent = [await endpoint(() => {})];
  const ask = await served({ 'timeout-seconds': '1' }, undefined, silent);
  expect((await ask()).status).toBe(504);
});

it('max-body-bytes refuses longer bodies, and bodies without a length', async () => {
  const ask = await served({ 'max-body-bytes': '3' });
  const status = async (fields: string, body: string) => (await ask('/', fields, body)).status;
  expect([
    await status('Content-Length: 3\r\n', 'abc'),
    await status('Content-Length: 4\r\n', 'abcd'),
    await status('Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  ]).toEqual([200, 413, 411]);
});

it('requests-per-second refuses requests beyond it', async () => {
  const ask = await served({ 'requests-per-second': '5' });
  const answers = await Promise.all(Array.from({ length: 20 }, async () => (await ask()).status));
  expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(10);
  expect(answers).toContain(200);
  expect(answers).toContain(429);
});

it('affinity sends a client to the same endpoint again, by a cookie', async () => {
  const named = (name: string) => endpoint((_asked, answer) => answer.end(`from ${name}`));
  const ask = await served({ affinity: 'cookie' }, undefined, await Promise.all(['a', 'b', 'c'].map(named)));
  const { text } = await ask();
  const cookie = /^set-cookie: ([^;]+);/im.exec(text)?.[1] ?? '';
  expect(cookie).toMatch(/^matryoshka-affinity=./);
  const first = /from .$/.exec(text)?.[0];
  for (let times = 0; times < 5; times += 1)
    expect((await ask('/', `Cookie: ${cookie}\r\n`)).text).toMatch(new RegExp(`${first}$`));
});

describe('rewrite-to', () => {
  it.each([
    ['/new', 'prefix', '/api', '/api/a?b', '/new/a?b'],
    ['/new/', 'prefix', '/api/', '/api', '/new'],
    ['/', 'prefix', '/api', '/api', '/'],
    ['/', 'prefix', '/api', '/api/a', '/a'],
    ['/new', 'prefix', '/', '/a', '/new/a'],
    ['/new', 'exact', '/api', '/api', '/new'],
  ] as const)('with %s for a %s %s turns %s into %s', async (to, match, path, asked, expected) => {
    const ask = await served({ 'rewrite-to': to }, { path, match });
    expect((await ask(asked)).text).toMatch(new RegExp(`url ${expected.replace('?', '\\?')}$`));
  });
});

it('hsts-seconds sets its header over TLS only', async () => {
  const { text, host } = await (await served({ 'hsts-seconds': '60' }))();
  expect(text).not.toMatch(/strict-transport/i);
  const socket = connect({ port: test.httpsPort, host: '127.0.0.1', rejectUnauthorized: false });
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(`${await buffer(socket)}`).toMatch(/^strict-transport-security: max-age=60\r$/m);
});

it('basic-auth-secret admits clients with credentials, and hides those from the backend', async () => {
  const data = secretData({ username: 'jo', password: 'pass:wörd' });
  const basic = credentialsHash({ metadata: {}, data });
  const echo = await endpoint(({ headers }, answer) => answer.end(`got ${headers.authorization}`));
  const access = basic === undefined ? {} : { basic };
  const ask = await served({ 'basic-auth-secret': 's' }, undefined, [echo], access);
  const of = (text: string) => `Authorization: Basic ${Buffer.from(text).toString('base64')}\r\n`;
  const refused = await ask();
  expect(refused.status).toBe(401);
  expect(refused.text).toMatch(/^www-authenticate: basic realm=/im);
  expect((await ask('/', of('jo:pass:word'))).status).toBe(401);
  expect((await ask('/', of('jo:pass:wörd'))).text).toMatch(/got undefined$/);
});

describe('auth-request', () => {
  /** Creates a host that asks an authenticating Service; collects the requests that this Service gets. */
  async function guarded(answer: RequestListener, annotations: Record<string, string> = {}) {
    const asked: IncomingMessage[] = [];
    const service = await endpoint((request, response) => {
      asked.push(request);
      answer(request, response);
    });
    await test.route(`auth${hosts}`, [service]);
    const echo = await endpoint(({ headers }, response) => response.end(`user ${headers['x-auth-user']}`));
    const ask = await served(
      { 'auth-request': 'auth:80/check', 'auth-response-headers': 'X-Auth-User', ...annotations },
      undefined,
      [echo],
      { auth: { backend: `ns/auth${hosts}:80`, host: 'auth.ns', path: '/check' } },
    );
    return { asked, ask };
  }

  it('passes a request if the Service answers 2xx, with fields of its answer', async () => {
    const { asked, ask } = await guarded((_asked, answer) => answer.setHeader('X-Auth-User', 'jo').end());
    const { text, host } = await ask(
      '/a?b',
      'Cookie: c=1\r\nX-Auth-User: root\r\nContent-Length: 1\r\n',
      'x',
    );
    expect(text).toMatch(/user jo$/);
    expect(asked.map(({ method, url }) => [method, url])).toEqual([['HEAD', '/check']]);
    expect(asked[0]?.headers).toMatchObject({
      ...{ host: 'auth.ns', cookie: 'c=1', 'x-original-method': 'POST', 'x-original-uri': '/a?b' },
      ...{ 'x-forwarded-host': host, 'x-forwarded-for': '127.0.0.1' },
    });
    expect(asked[0]?.headers).not.toHaveProperty('content-length');
    expect(asked[0]?.headers).not.toHaveProperty('x-matryoshka-backend');
  });

  it('removes client fields that the Service does not return', async () => {
    const { ask } = await guarded((_asked, answer) => answer.end());
    expect((await ask('/', 'X-Auth-User: root\r\n')).text).toMatch(/user undefined$/);
  });

  it.each([
    [401, 401],
    [403, 403],
    [302, 302],
    [404, 503],
    [500, 503],
  ])('answers a %d of the Service with %d', async (status, expected) => {
    const { ask } = await guarded((_asked, answer) =>
      answer.writeHead(status, { location: 'https://login/', 'set-cookie': 'a=b', server: 'secret' }).end(),
    );
    const { status: got, text } = await ask();
    expect(got).toBe(expected);
    expect(/^location: https:\/\/login\/\r$/m.test(text)).toBe(expected !== 503);
    expect(text).not.toMatch(/user|secret/);
  });

  it('answers 503 if the Service has no endpoint, takes no connection or does not answer', async () => {
    const { ask } = await guarded(() => {});
    await test.route(`auth${hosts - 1}`, []);
    expect((await ask()).status).toBe(503);
    await test.route(`auth${hosts - 1}`, [await closedPort()]);
    expect((await ask()).status).toBe(503);
    await test.route(`auth${hosts - 1}`, [await endpoint(() => {})]);
    expect((await ask()).status).toBe(503);
  });
});

describe('an invalid annotation', () => {
  it.each([
    ['redirect-to-https', 'yes'],
    ['allow-from', '10.0.0.0/8; http-request allow'],
    ['allow-from', '10.0.0.1'],
    ['timeout-seconds', '0'],
    ['max-body-bytes', '-1'],
    ['requests-per-second', '1e3'],
    ['affinity', 'ip'],
    ['rewrite-to', '/a" if TRUE'],
    ['hsts-seconds', '60\n'],
    ['basic-auth-secret', 'A b'],
    ['auth-request', 'http://169.254.169.254/'],
    ['auth-request', 'auth:80/a b'],
    ['auth-response-headers', 'Host'],
    ['auth-response-headers', 'X-Forwarded-For'],
    ['timeout', '5'],
  ])('%s: %j is reported', (name, value) => {
    const { settings, problems } = settingsOf(ofIngress({ [name]: value }));
    expect(settings).toEqual({});
    expect(problems.join()).toContain(`annotation ${SETTINGS_PREFIX}${name}`);
  });
});

it('docs/ingress.md has every annotation', async () => {
  const page = await readFile(new URL('../../../../docs/ingress.md', import.meta.url), 'utf8');
  const { problems } = settingsOf(ofIngress({ nothing: '' }));
  for (const name of (problems[0] ?? '').replace(/^.*there are /, '').split(', '))
    expect(page).toContain(`\`${name}\``);
});
