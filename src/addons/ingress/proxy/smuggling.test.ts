import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpoint, keepsOthersServed, rawEndpoint, useProxy } from './testing/proxy.fixture.ts';

/** Sends requests as bytes that two readers could read in two ways. */
const test = useProxy({ headerSeconds: 1, idleSeconds: 1 });
keepsOthersServed(test);
const reached: string[] = [];
/** Requests as bytes, as the endpoint of host "h" gets them. */
const seen: string[] = [];
let reader = '';
beforeAll(async () => {
  const where = await endpoint((request, response) => {
    reached.push(`${request.method} ${request.url}`);
    request.resume().on('end', () => response.end('reached'));
  });
  reader = where;
  await test.route('h', [where]);
});
const HEAD = 'POST / HTTP/1.1\r\nHost: h\r\n';
/** Hidden second request of a smuggler. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n';

describe('HAProxy refuses', () => {
  it.each<[string, string, number]>([
    ['two lengths that differ', `${HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde${HIDDEN}`, 400],
    ['a signed length', `${HEAD}Content-Length: +5\r\n\r\nabcde`, 400],
    ['a negative length', `${HEAD}Content-Length: -1\r\n\r\n`, 400],
    ['a length in hexadecimal', `${HEAD}Content-Length: 0x5\r\n\r\nabcde`, 400],
    ['a length beyond all numbers', `${HEAD}Content-Length: 99999999999999999999\r\n\r\n`, 400],
    ['a length that is empty', `${HEAD}Content-Length:\r\n\r\n`, 400],
    ['a bare CR in a value', `${HEAD}X: a\rTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['a NUL in a value', `${HEAD}X: a\0b\r\n\r\n`, 400],
    ['a space before the colon', `${HEAD}Content-Length : 5\r\n\r\nabcde`, 400],
    ['a tab before the colon', `${HEAD}Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['a field without a colon', `${HEAD}Nonsense\r\n\r\n`, 400],
    ['a field without a name', `${HEAD}: value\r\n\r\n`, 400],
    ['another encoding', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 422],
    ['an encoding that is none', `${HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
    [
      'two encodings',
      `${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['a chunk size that is none', `${HEAD}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, 400],
    ['a chunk size with a sign', `${HEAD}Transfer-Encoding: chunked\r\n\r\n-1\r\n`, 400],
    ['a chunk size with a prefix', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n`, 400],
    [
      'a chunk size that wraps around',
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n100000000000000005\r\n`,
      400,
    ],
    ['a chunk that ends with LF', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n`, 400],
    ['a chunk longer than it said', `${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n`, 400],
    ['a trailer that is no field', `${HEAD}Transfer-Encoding: chunked\r\n\r\n0\r\nnonsense\r\n\r\n`, 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['a host that is none', 'GET / HTTP/1.1\r\nHost: h/x@y\r\n\r\n', 400],
    ['two hosts in one', 'GET / HTTP/1.1\r\nHost: h, g\r\n\r\n', 400],
    ['a first line with more', 'GET / HTTP/1.1 x\r\nHost: h\r\n\r\n', 400],
    ['a first line without a version', 'GET /\r\nHost: h\r\n\r\n', 400],
    ['a method that is none', 'G(T / HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a target that is no path', 'GET x HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a target with a fragment', 'GET /#x HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['".." in the path', 'GET /a/../admin HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['".." in the path, encoded', 'GET /a/%2e%2E/admin HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['".." between encoded slashes', 'GET /a%2f..%2fadmin HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['a backslash in the path', 'GET /a\\..\\admin HTTP/1.1\r\nHost: h\r\n\r\n', 400],
    ['CONNECT', 'CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n', 501],
    ['a header that comes too slowly', 'GET / HTTP/1.1\r\nHost:', 408],
    ['a body that comes too slowly', `${HEAD}Content-Length: 5\r\n\r\nab`, 400],
    ['too many fields', `${HEAD}${'X: 1\r\n'.repeat(110)}\r\n`, 400],
    ['a header that is too long', `${HEAD}X: ${'a'.repeat(17_500)}\r\n\r\n`, 400],
    ['a header without an end', `${HEAD}X: ${'a'.repeat(20_000)}`, 400],
  ])('%s', async (_what, text, status) => {
    reached.splice(0);
    const answer = await test.raw(text, '\r\n\r\n');
    expect(answer.text.split('\r\n')[0]).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(reached.filter((one) => one.includes('hidden') || one.startsWith('GET'))).toEqual([]);
  });

  it('a tunnel to a foreign host', async () => {
    const { text } = await test.raw('CONNECT other:443 HTTP/1.1\r\nHost: other:443\r\n\r\n', '\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1.1 501 /);
  });

  it('bytes that are not HTTP', async () => {
    const answer = await test.raw(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 10]));
    expect(answer.text).toMatch(/^HTTP\/1.1 400 /);
  });
});

/** HAProxy reads each of these in one way and forwards that. The endpoint gets one length, one host and no folded line. */
describe('HAProxy forwards in one unambiguous form', () => {
  beforeAll(async () => {
    const where = await rawEndpoint((socket) =>
      socket.on('data', (bytes) => {
        seen.push(`${bytes}`);
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      }),
    );
    await test.route('h', [where]);
  });
  afterAll(() => test.route('h', [reader]));
  it.each<[string, string]>([
    ['both lengths', `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
    [
      'both lengths, the other way',
      `${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    ],
    ['the same length twice', `${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nabcde`],
    ['a list of lengths', `${HEAD}Content-Length: 5, 5\r\n\r\nabcde`],
    ['a folded line', `${HEAD}X-A: 1\r\n Content-Length: 5\r\n\r\nabcde`],
    ['a folded encoding', `${HEAD}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['a bare LF as a line end', `POST / HTTP/1.1\r\nHost: h\nX: 1\r\n\r\n`],
    ['bare LFs alone', 'GET / HTTP/1.1\nHost: h\n\n'],
    ['an encoding of HTTP/1.0', `POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a chunk size with a space', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5 \r\nabcde\r\n0\r\n\r\n`],
    ['a chunk extension', `${HEAD}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nabcde\r\n0\r\n\r\n`],
    ['two hosts', `${HEAD}Host: h\r\n\r\n`],
    ['a first line with two spaces', 'GET  / HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a first line with a tab', 'GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['another version', 'GET / HTTP/1.2\r\nHost: h\r\n\r\n'],
  ])('%s', async (_what, text) => {
    seen.splice(0);
    const [name] = text.split('/', 1);
    const answer = await test.raw(text, '\r\n\r\n');
    expect(answer.text).toMatch(/^HTTP\/1.1 200 /);
    const [first = ''] = seen;
    expect(first).toMatch(new RegExp(`^${name?.trim()} / HTTP/1.[01]\r\n`));
    const fields = first.split('\r\n\r\n', 1)[0]?.split('\r\n').slice(1) ?? [];
    expect(fields.filter((field) => !/^[a-z0-9-]+: [^\r\n]*$/.test(field))).toEqual([]);
    expect(fields.filter((field) => field.startsWith('host:'))).toEqual(['host: h']);
    expect(fields.filter((field) => /^(content-length|transfer-encoding):/.test(field)).length).toBeLessThan(
      2,
    );
  });
});

describe('HAProxy accepts', () => {
  it.each([
    [
      'a chunked body in single bytes',
      `${HEAD}Transfer-Encoding: Chunked\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\n\r\n`,
    ],
    ['an empty line before the request', `\r\n${HEAD}Content-Length: 2\r\n\r\nab`],
    ['a target in absolute form', 'GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a name with a dot at its end, and a port', 'GET / HTTP/1.1\r\nHost: H.:8080\r\n\r\n'],
    ['dots that are no elements', 'GET /a..b/.c/...? HTTP/1.1\r\nHost: h\r\n\r\n'],
  ])('%s', async (_what, text) => {
    const socket = await test.open();
    const got = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(`${bytes}`)));
    for (const byte of text) socket.write(byte);
    expect(await got).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  it('pipelined requests, in order', async () => {
    reached.splice(0);
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
    const last = 'GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
    const { text } = await test.raw(one('/1') + one('/2') + last);
    expect(reached).toEqual(['GET /1', 'GET /2', 'GET /3']);
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  });
});
