import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectH2, createServer as createH2Server } from 'node:http2';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { connect, type PeerCertificate } from 'node:tls';
import {
  credentials,
  Client as GrpcClient,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority, createServerCertificate, type KeyPair } from '#certificates/certificates.ts';
import { closedPort, endpoint, portOf, useProxy } from './testing/proxy.fixture.ts';

const test = useProxy({ idleSeconds: 2, connectSeconds: 1 });
let authority: KeyPair;
const sessions = new Set<ClientHttp2Session>();
beforeAll(async () => {
  authority = await createAuthority();
});
afterAll(() => {
  for (const session of sessions) session.destroy();
});

/** Gives a host a certificate. */
const certify = async (host: string, name = host) =>
  test.certify(host, await createServerCertificate(authority, [name], []));
/** Returns the name in the certificate that a client gets for a host. */
async function shownTo(servername: string): Promise<string> {
  const socket = connect({ port: test.httpsPort, host: '127.0.0.1', servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const shown: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return `${shown.subject.CN}`;
}
const h2 = (host: string): ClientHttp2Session => {
  const session = connectH2(`https://127.0.0.1:${test.httpsPort}`, { ca: authority.cert, servername: host });
  sessions.add(session.on('error', () => {}));
  return session;
};
async function askH2(host: string, headers: Record<string, string> = {}, body?: Buffer) {
  const session = h2(host);
  const stream = session.request({ ':authority': host, ...headers }, { endStream: body === undefined });
  if (body) stream.end(body);
  const [answer] = await once(stream, 'response');
  const text = `${await buffer(stream)}`;
  session.close();
  return { status: answer[':status'], headers: answer, text };
}

describe('TLS', () => {
  it('shows the certificate of the requested host, else the default one, and follows changes', async () => {
    await certify('a.example');
    await certify('*.b.example');
    expect(
      await Promise.all(['a.example', 'A.example', 'x.b.example', 'x.y.b.example', 'c.example'].map(shownTo)),
    ).toEqual(['a.example', 'a.example', '*.b.example', 'own.invalid', 'own.invalid']);
    await certify('a.example', 'renewed.example');
    expect(await shownTo('a.example')).toBe('renewed.example');
    await test.certify('a.example', undefined);
    expect(await shownTo('a.example')).toBe('own.invalid');
    expect(await shownTo('x.b.example')).toBe('*.b.example');
  });

  it('shows one certificate for all other hosts, but not for a host whose own is missing', async () => {
    await certify('', 'any.example');
    await test.certify('other.b.example', null);
    expect(await Promise.all(['z.example', 'other.b.example', 'y.b.example', ''].map(shownTo))).toEqual([
      'any.example',
      'own.invalid',
      '*.b.example',
      'any.example',
    ]);
    await test.certify('', undefined);
    expect(await shownTo('z.example')).toBe('own.invalid');
  });

  it('shows the default for a host whose pair OpenSSL rejects, and keeps the others', async () => {
    const weak = await execa('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:1024', '-nodes', '-days', '1', '-subj', '/CN=weak.example'],
      ...['-keyout', '-', '-out', '-'],
    ]);
    const [key = '', cert = ''] = weak.stdout.split(/(?=-----BEGIN CERTIFICATE-----)/);
    await certify('strong.example');
    await test.certify('weak.example', { cert, key });
    expect(await shownTo('weak.example')).toBe('own.invalid');
    expect(await shownTo('strong.example')).toBe('strong.example');
    // Another backend needs a reload, which reads all files anew.
    await test.route('after-weak', [await endpoint((_asked, answer) => answer.end('served'))]);
    const { text } = await test.raw('GET / HTTP/1.1\r\nHost: after-weak\r\nConnection: close\r\n\r\n');
    expect(text).toMatch(/served$/);
    expect(await shownTo('strong.example')).toBe('strong.example');
    await test.certify('weak.example', undefined);
  });

  it('serves HTTP/1.1 on request, and forwards https as the protocol', async () => {
    await certify('one.example');
    await test.route('one.example', [
      await endpoint((asked, answer) =>
        answer.end(`${asked.headers['x-forwarded-proto']} ${asked.headers['x-forwarded-port']}`),
      ),
    ]);
    const options = {
      port: test.httpsPort,
      host: '127.0.0.1',
      servername: 'one.example',
      ca: authority.cert,
    };
    const sent = request({ ...options, headers: { host: 'one.example' }, agent: false }).end();
    const [answer] = await once(sent, 'response');
    expect([answer.httpVersion, `${await buffer(answer)}`]).toEqual(['1.1', 'https 443']);
  });
});

describe('HTTP/2', () => {
  it('reaches endpoints of HTTP/1.1, with and without a body', async () => {
    await certify('two.example');
    await test.route('two.example', [
      await endpoint((asked, answer) => {
        answer.setHeader(
          'x-length',
          `${asked.headers['content-length']} ${asked.headers['transfer-encoding']}`,
        );
        answer.setHeader('x-host', `${asked.headers.host}`);
        asked.pipe(answer);
      }),
    ]);
    expect(await askH2('two.example')).toMatchObject({
      status: 200,
      text: '',
      headers: { 'x-length': 'undefined undefined', 'x-host': 'two.example' },
    });
    const body = Buffer.alloc(300_000, 'x');
    const open = await askH2('two.example', { ':method': 'POST' }, body);
    expect([open.status, open.text.length, open.headers['x-length']]).toEqual([
      200,
      300_000,
      'undefined chunked',
    ]);
    const counted = await askH2('two.example', { ':method': 'POST', 'content-length': '300000' }, body);
    expect([counted.text.length, counted.headers['x-length']]).toEqual([300_000, '300000 undefined']);
    expect((await askH2('two.example', { ':authority': 'none.example' })).status).toBe(404);
  });

  it.each<[string, Record<string, string>]>([
    ['".." in its path', { ':path': '/a/../b' }],
    ['a path that would be two lines', { ':path': '/ HTTP/1.1' }],
    ['a host that is none', { ':authority': 'two.example/x' }],
  ])('with %s is refused', async (_what, headers) => {
    // The library ends the stream upon anything that HTTP/2 forbids.
    const asked = askH2('two.example', headers);
    expect(await asked.then(({ status }) => `${status}`, String)).toMatch(/^400$|PROTOCOL_ERROR/);
  });

  it('with a wrong content-length does not smuggle a second request', async () => {
    const seen: string[] = [];
    await test.route('two.example', [
      await endpoint((asked, answer) => {
        seen.push(`${asked.method}`);
        asked.resume().on('end', () => answer.end());
      }),
    ]);
    const stream = h2('two.example').request({
      ':method': 'POST',
      ':authority': 'two.example',
      'content-length': '3',
    });
    stream.on('error', () => {});
    stream.end('abcGET /hidden HTTP/1.1\r\nHost: h\r\n\r\n');
    await new Promise((resolve) => stream.once('close', resolve));
    expect((await askH2('two.example')).status).toBe(200);
    expect(seen.filter((method) => method === 'GET')).toHaveLength(1);
  });
});

describe('gRPC', () => {
  const path = '/test.Echo/Say';
  const raw = (value: Buffer) => value;
  const definition = {
    say: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
    talk: {
      path: '/test.Echo/Talk',
      requestStream: true,
      responseStream: true,
      requestSerialize: raw,
      requestDeserialize: raw,
      responseSerialize: raw,
      responseDeserialize: raw,
    },
  } as const;
  const server = new Server();
  let channel: GrpcClient;
  beforeAll(async () => {
    await certify('grpc.example');
    server.addService(definition, {
      say(
        call: { request: Buffer; metadata: Metadata },
        callback: (error: object | null, value?: Buffer, trailer?: Metadata) => void,
      ) {
        if (`${call.request}` === 'fail')
          return callback({ code: status.NOT_FOUND, details: 'there is none' });
        const trailer = new Metadata();
        trailer.set('x-trailer', `${call.metadata.get('x-forwarded-proto')[0]}`);
        callback(null, call.request, trailer);
      },
      talk: (call: NodeJS.ReadWriteStream) => {
        call.on('data', (part) => call.write(part));
        call.on('end', () => call.end());
      },
    });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    await test.route('grpc.example', [await closedPort(), `127.0.0.1:${port}`], { protocol: 'h2c' });
    channel = new GrpcClient(
      `127.0.0.1:${test.httpsPort}`,
      credentials.createSsl(Buffer.from(authority.cert)),
      {
        'grpc.ssl_target_name_override': 'grpc.example',
        'grpc.default_authority': 'grpc.example',
      },
    );
  });
  afterAll(() => {
    channel.close();
    server.forceShutdown();
  });
  const say = (text: string) =>
    new Promise<{ error: ServiceError | null; value: string; trailer: unknown[] }>((resolve) => {
      let trailer: unknown[] = [];
      let ended: { error: ServiceError | null; value: string } | undefined;
      const report = () => ended && resolve({ ...ended, trailer });
      const call = channel.makeUnaryRequest(
        path,
        raw,
        raw,
        Buffer.from(text),
        new Metadata(),
        (error, value) => {
          ended = { error, value: `${value}` };
          setImmediate(report);
        },
      );
      call.on('status', ({ metadata }) => {
        trailer = metadata.get('x-trailer');
      });
    });

  it('passes trailers and errors', async () => {
    for (let times = 0; times < 4; times += 1)
      expect(await say('hello')).toEqual({ error: null, value: 'hello', trailer: ['https'] });
    expect((await say('fail')).error).toMatchObject({ code: status.NOT_FOUND, details: 'there is none' });
  });
  it('streams both ways', async () => {
    const call = channel.makeBidiStreamRequest('/test.Echo/Talk', raw, raw, new Metadata());
    for (const text of ['one', 'two', 'three']) {
      call.write(Buffer.from(text));
      expect(`${(await once(call, 'data'))[0]}`).toBe(text);
    }
    call.end();
    await once(call.resume(), 'end');
  });
});

it('a request of HTTP/1.1 reaches an endpoint of HTTP/2', async () => {
  const server = createH2Server((asked, answer) => {
    answer.setHeader('x-version', asked.httpVersion);
    asked.pipe(answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await test.route('h2c', [`127.0.0.1:${portOf(server)}`], { protocol: 'h2c' });
  const head = 'POST / HTTP/1.1\r\nHost: h2c\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
  const { text } = await test.raw(`${head}3\r\nabc\r\n0\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1.1 200 [\s\S]*x-version: 2.0[\s\S]*\r\n3\r\nabc\r\n0\r\n\r\n$/);
  server.close();
});
