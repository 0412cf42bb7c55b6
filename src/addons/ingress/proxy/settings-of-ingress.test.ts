import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { Ingress } from '#api/networking.ts';
import { SETTINGS_PREFIX, settingsOf } from '../routing/settings.ts';
import { endpoint, useProxy } from './testing/proxy.fixture.ts';

/** Annotations of an Ingress, and what a client of HAProxy sees of each. */
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
/** A host of its own whose Ingress has annotations; answers how a request to it begins. */
async function served(
  annotations: Record<string, string>,
  rule: { path: string; match: 'exact' | 'prefix' } = { path: '/', match: 'prefix' },
  endpoints?: readonly string[],
) {
  hosts += 1;
  const host = `h${hosts}`;
  const { settings, problems } = settingsOf(ofIngress(annotations));
  expect(problems).toEqual([]);
  const where = endpoints ?? [await endpoint(({ url }, answer) => answer.end(`url ${url}`))];
  const paths = [{ ...rule, backend: `ns/${host}:80` }];
  await test.route(host, where, { paths, rules: { settings, rule } });
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

it('max-body-bytes refuses longer bodies, and those that do not say their length', async () => {
  const ask = await served({ 'max-body-bytes': '3' });
  const status = async (fields: string, body: string) => (await ask('/', fields, body)).status;
  expect([
    await status('Content-Length: 3\r\n', 'abc'),
    await status('Content-Length: 4\r\n', 'abcd'),
    await status('Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  ]).toEqual([200, 413, 411]);
});

it('requests-per-second refuses what a client asks beyond it', async () => {
  const ask = await served({ 'requests-per-second': '5' });
  const answers = await Promise.all(Array.from({ length: 20 }, async () => (await ask()).status));
  expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(10);
  expect(answers).toContain(200);
  expect(answers).toContain(429);
});

it('affinity leads a client to the same endpoint again, by a cookie', async () => {
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
  ] as const)('%s in the place of a %s %s makes of %s: %s', async (to, match, path, asked, expected) => {
    const ask = await served({ 'rewrite-to': to }, { path, match });
    expect((await ask(asked)).text).toMatch(new RegExp(`url ${expected.replace('?', '\\?')}$`));
  });
});

it('hsts-seconds is said over TLS alone', async () => {
  const { text, host } = await (await served({ 'hsts-seconds': '60' }))();
  expect(text).not.toMatch(/strict-transport/i);
  const socket = connect({ port: test.httpsPort, host: '127.0.0.1', rejectUnauthorized: false });
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect(`${await buffer(socket)}`).toMatch(/^strict-transport-security: max-age=60\r$/m);
});

describe('an annotation that cannot be used', () => {
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
    ['timeout', '5'],
  ])('%s: %j is named', (name, value) => {
    const { settings, problems } = settingsOf(ofIngress({ [name]: value }));
    expect(settings).toEqual({});
    expect(problems.join()).toContain(`annotation ${SETTINGS_PREFIX}${name}`);
  });
});

it('every annotation is on the page', async () => {
  const page = await readFile(new URL('../../../../docs/ingress.md', import.meta.url), 'utf8');
  const { problems } = settingsOf(ofIngress({ nothing: '' }));
  for (const name of (problems[0] ?? '').replace(/^.*there are /, '').split(', '))
    expect(page).toContain(`\`${name}\``);
});
