import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type RequestOptions, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { closedPort, endpoint, rawEndpoint, useProxy } from './testing/proxy.fixture.ts';

const test = useProxy({ idleSeconds: 1, connectSeconds: 1, tunnelIdleSeconds: 1 });
const limited = useProxy({ maxBodyBytes: 3_000_000 });
const trusting = useProxy({ trustedProxies: ['127.0.0.0/8'] });
const proxied = useProxy({ trustedProxies: ['127.0.0.0/8'], proxyProtocol: true });

async function ask(host: string, options: RequestOptions = {}, body?: Buffer) {
  const sent = request({ host: '127.0.0.1', port: test.httpPort, agent: false, ...options });
  sent.setHeader('host', host);
  sent.end(body);
  const [answer] = await once(sent, 'response');
  const text = await buffer(answer);
  return { status: answer.statusCode, headers: answer.headers, text: `${text}`, bytes: text };
}
const echo = () =>
  endpoint((request, response) => {
    response.setHeader('x-seen', JSON.stringify(request.rawHeaders));
    request.pipe(response);
  });

describe('a request', () => {
  it('gets 404 without a route, and 503 without an endpoint that answers', async () => {
    await test.route('empty', []);
    await test.route('dead', [await closedPort(), await closedPort()]);
    expect([(await ask('none')).status, (await ask('empty')).status, (await ask('dead')).status]).toEqual([
      404, 503, 503,
    ]);
  });

  it('goes to another endpoint with its body if the first does not answer', async () => {
    await test.route('half', [await closedPort(), await echo()]);
    const body = randomBytes(2_000_000);
    for (let times = 0; times < 4; times += 1) {
      const { status, bytes } = await ask('half', { method: 'POST' }, body);
      expect([status, bytes.equals(body)]).toEqual([200, true]);
    }
  });

  it.each([
    ['/100%', '/100%25'],
    ['/%4', '/%254'],
    ['/%zz', '/%25zz'],
    ['/~a', '/%7Ea'],
    ['/ü', '/%c3%bc'],
    ['/a%2fb', '/a%2Fb'],
  ])('matches the path of rule %s in another spelling: %s', async (path, asked) => {
    await test.route('spelt', [await echo()], { paths: [{ path, match: 'exact', backend: 'ns/spelt:80' }] });
    const spelt = path === '/ü' ? [asked] : [path, asked];
    for (const one of spelt) expect((await ask('spelt', { path: one })).status).toBe(200);
  });

  it('is not repeated once bytes of it were sent', async () => {
    let times = 0;
    const broken = await rawEndpoint((socket) =>
      socket.once('data', () => {
        times += 1;
        socket.destroy();
      }),
    );
    await test.route('broken', [broken, broken.replace('127.0.0.1', '127.0.0.2')]);
    expect((await ask('broken')).status).toBe(502);
    expect(times).toBe(1);
  });

  it('goes to each endpoint in turn', async () => {
    const named = (name: string) => endpoint((_request, response) => response.end(name));
    await test.route('turns', [await named('a'), await named('b'), await named('c')]);
    const names: string[] = [];
    for (let times = 0; times < 9; times += 1) names.push((await ask('turns')).text);
    expect(names.toSorted()).toEqual(['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c']);
  });

  it('carries forwarding fields of the proxy, and none that the client sent', async () => {
    await test.route('way', [await echo()]);
    const { headers } = await ask('way:8443', {
      headers: {
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-proto': 'https',
        x_forwarded_host: 'evil',
        forwarded: 'for=1.2.3.4',
        'x-real-ip': '1.2.3.4',
        connection: 'close, x-secret',
        'x-secret': 'of this hop',
        'keep-alive': 'timeout=5',
        te: 'trailers',
        'proxy-authorization': 'Basic x',
        'x-kept': 'yes',
      },
    });
    const seen: string[] = JSON.parse(`${headers['x-seen']}`);
    expect(seen).toEqual([
      ...['te', 'trailers', 'x-kept', 'yes', 'host', 'way:8443', 'x-forwarded-for', '127.0.0.1'],
      ...['x-forwarded-host', 'way:8443', 'x-forwarded-port', '8443', 'x-forwarded-proto', 'http'],
      ...['x-request-id', expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ]);
  });

  it('from a trusted proxy keeps its forwarding fields, and gets its address added', async () => {
    await trusting.route('way', [await echo()]);
    const fields =
      'X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Ssl: on\r\nX-Real-IP: 1.2.3.4\r\n';
    const { text } = await trusting.raw(`GET / HTTP/1.1\r\nHost: way\r\nConnection: close\r\n${fields}\r\n`);
    const seen: string[] = JSON.parse(/^x-seen: (.*)$/m.exec(text)?.[1] ?? '[]');
    const reported = seen.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${seen[at + 1]}`] : []));
    expect(reported.filter((field) => /^x-(forwarded|real)/.test(field))).toEqual([
      ...['x-forwarded-for: 203.0.113.9', 'x-forwarded-proto: https', 'x-forwarded-ssl: on'],
      ...['x-forwarded-for: 127.0.0.1', 'x-forwarded-host: way', 'x-forwarded-port: 80'],
    ]);
  });

  it('with the PROXY protocol has the address of the client that it names', async () => {
    await proxied.route('way', [await echo()]);
    const head = 'PROXY TCP4 203.0.113.9 192.0.2.1 1234 80\r\n';
    const { text } = await proxied.raw(`${head}GET / HTTP/1.1\r\nHost: way\r\nConnection: close\r\n\r\n`);
    expect(text).toContain('"x-forwarded-for","203.0.113.9"');
    const fields = 'X-Forwarded-Proto: https\r\n';
    const trusted = await proxied.raw(
      `${head}GET / HTTP/1.1\r\nHost: way\r\nConnection: close\r\n${fields}\r\n`,
    );
    expect(trusted.text).toContain('"x-forwarded-proto","https"');
  });

  it('gets 413 if its body is too long, and 411 without a length', async () => {
    await limited.route('long', [await echo()]);
    const post = async (fields: string) =>
      (await limited.raw(`POST / HTTP/1.1\r\nHost: long\r\n${fields}\r\n0\r\n\r\n`, '\r\n\r\n')).text.slice(
        9,
        12,
      );
    expect([
      await post('Content-Length: 3000001\r\n'),
      await post('Transfer-Encoding: chunked\r\n'),
      await post('Content-Length: 1\r\n'),
    ]).toEqual(['413', '411', '200']);
  });

  it('gets 504 if no endpoint answers in time; an aborted answer is aborted for the client', async () => {
    const silent = await rawEndpoint(() => {});
    const half = await rawEndpoint((socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')),
    );
    await test.route('silent', [silent]);
    await test.route('half-answer', [half]);
    expect((await ask('silent')).status).toBe(504);
    await expect(ask('half-answer')).rejects.toThrow(/aborted|hang up/);
  });

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['a protocol that nobody asked for', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n'],
  ])('gets 502 if the answer has %s', async (_what, text) => {
    await test.route('wrong', [await rawEndpoint((socket) => socket.once('data', () => socket.write(text)))]);
    expect((await ask('wrong')).status).toBe(502);
  });

  it('does not get surplus bytes of the previous answer', async () => {
    const ok = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    let connections = 0;
    const where = await rawEndpoint((socket) => {
      connections += 1;
      let isFirst = true;
      socket.on('data', () => {
        socket.write(isFirst ? `${ok('mine')}HTTP/1.1 200` : ok('evil'));
        isFirst = false;
      });
    });
    await test.route('more', [where]);
    for (let times = 0; times < 3; times += 1) expect((await ask('more')).text).toBe('mine');
    expect(connections).toBe(3);
  });

  it('gets the status, fields and body of the answer unchanged', async () => {
    const where = await endpoint((request, response) => {
      const status = Number(request.url?.slice(1));
      response.writeHead(status, { 'set-cookie': ['a=1', 'b=2'], 'content-length': status === 200 ? 5 : 0 });
      response.end(status === 200 ? 'hello' : undefined);
    });
    await test.route('status', [where]);
    for (const status of [200, 204, 304, 404, 500])
      expect((await ask('status', { path: `/${status}` })).status).toBe(status);
    expect((await ask('status', { path: '/200' })).headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(await ask('status', { path: '/200', method: 'HEAD' })).toMatchObject({
      headers: { 'content-length': '5' },
      text: '',
    });
  });

  it('gets 404 without a rule, also as one of 20,001 pipelined ones', async () => {
    const one = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    const { text } = await test.raw(`${one.repeat(20_000)}GET / HTTP/1.0\r\nHost: x\r\n\r\n`);
    expect(text.match(/HTTP\/1\.1 404/g)).toHaveLength(20_001);
  });
});

describe('a body', () => {
  it('streams both ways at once', async () => {
    await test.route('stream', [await echo()]);
    const options = { host: '127.0.0.1', port: test.httpPort, method: 'POST', headers: { host: 'stream' } };
    const sent = request(options);
    sent.write('one');
    const [answer] = await once(sent, 'response');
    expect(`${(await once(answer, 'data'))[0]}`).toBe('one');
    sent.write('two');
    expect(`${(await once(answer, 'data'))[0]}`).toBe('two');
    sent.end();
    await once(answer, 'end');
  });

  it('stops at its sender while its receiver does not read', async () => {
    let sentBytes = 0;
    const where = await endpoint((_request, response) => {
      const part = Buffer.alloc(65_536);
      const more = () => {
        while (sentBytes < 500_000_000 && response.write(part)) sentBytes += part.length;
      };
      response.on('drain', more);
      more();
    });
    await test.route('endless', [where]);
    const socket = await test.open();
    socket.write('GET / HTTP/1.1\r\nHost: endless\r\n\r\n');
    await once(socket, 'readable');
    // The endpoint stops sending once the buffers of the sockets are full. Then it times out, and the proxy ends the
    // request.
    const before = await vi.waitFor(async () => {
      const seen = sentBytes;
      await sleep(100);
      expect(sentBytes).toBe(seen);
      return seen;
    }, 5_000);
    expect(before).toBeLessThan(50_000_000);
    socket.destroy();
  });

  it('arrives complete, with a length and without', async () => {
    await test.route('whole', [await echo()]);
    const body = randomBytes(1_500_000);
    const sum = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    for (const headers of [{ 'content-length': `${body.length}` }, { 'transfer-encoding': 'chunked' }])
      expect(sum((await ask('whole', { method: 'PUT', headers }, body)).bytes)).toBe(sum(body));
  });

  it('is requested with 100 Continue if the client waits for that', async () => {
    await test.route('continue', [await echo()]);
    const head = 'POST / HTTP/1.1\r\nHost: continue\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n';
    const socket = await test.open();
    socket.write(head);
    expect(`${(await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 100 /);
    socket.write('ab');
    expect(`${(await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });
});

describe('a WebSocket', () => {
  const HEAD =
    'GET /ws HTTP/1.1\r\nHost: ws\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  it('passes bytes both ways, and ends when it is idle', async () => {
    const where = await rawEndpoint((socket) =>
      socket.once('data', (head) => {
        const isAsked =
          /^connection: upgrade\r$/im.test(`${head}`) && /^upgrade: websocket\r$/im.test(`${head}`);
        socket.write(
          isAsked
            ? 'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhi'
            : '',
        );
        socket.on('data', (bytes) => socket.write(`echo ${bytes}`));
      }),
    );
    await test.route('ws', [where]);
    const socket = await test.open();
    let got = '';
    socket.on('data', (bytes) => {
      got += bytes;
    });
    socket.write(`${HEAD}\r\n`);
    await vi.waitFor(() =>
      expect(got).toMatch(/^HTTP\/1.1 101 [\s\S]*upgrade: websocket[\s\S]*\r\n\r\nhi$/i),
    );
    socket.write('there');
    await vi.waitFor(() => expect(got).toMatch(/hiecho there$/));
    await once(socket, 'close');
  });
  it.each([['h2c', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n']])(
    'is not what %s requests; the endpoint does not see that upgrade',
    async (_what, fields) => {
      await test.route('plain', [await echo()]);
      const { text } = await test.raw(`GET / HTTP/1.1\r\nHost: plain\r\n${fields}\r\nx`, '\r\n\r\n');
      expect(text).toMatch(/^HTTP\/1.1 200 /);
      expect(text).not.toMatch(/"(upgrade|http2-settings)"/i);
    },
  );
});
