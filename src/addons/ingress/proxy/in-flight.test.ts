import { once } from 'node:events';
import { request } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectH2,
  createServer as createH2Server,
  type ServerHttp2Session,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { endpoint, portOf, rawEndpoint, useProxy } from './testing/proxy.fixture.ts';

/**
 * Tests requests in progress while their route is removed: they finish as they began, and the next request gets the new
 * state.
 */
const test = useProxy();
const sessions = new Set<ClientHttp2Session | ServerHttp2Session>();
afterAll(() => {
  for (const session of sessions) session.destroy();
});

/** Bytes that pass both ways: the endpoint echoes them. */
interface Open {
  say(text: string): Promise<string>;
  end(): Promise<void>;
}
const overStream = (up: Duplex, down: Duplex): Open => ({
  async say(text) {
    up.write(text);
    return `${(await once(down, 'data'))[0]}`;
  },
  async end() {
    up.end();
    await once(down.resume(), 'end');
  },
});

const overHttp1 = async (host: string): Promise<Open> => {
  const options = { host: '127.0.0.1', port: test.httpPort, method: 'POST', agent: false } as const;
  const sent = request({ ...options, headers: { host } });
  sent.write('first');
  const [answer] = await once(sent, 'response');
  await once(answer, 'data');
  return {
    async say(text) {
      sent.write(text);
      return `${(await once(answer, 'data'))[0]}`;
    },
    async end() {
      sent.end();
      await once(answer.resume(), 'end');
    },
  };
};
const overHttp2 = async (host: string): Promise<Open> => {
  const session = connectH2(`https://127.0.0.1:${test.httpsPort}`, { rejectUnauthorized: false });
  sessions.add(session.on('error', () => {}));
  const stream = session.request({ ':authority': host, ':method': 'POST' });
  stream.write('first');
  await once(stream, 'response');
  await once(stream, 'data');
  return overStream(stream, stream);
};
const overWebSocket = async (host: string): Promise<Open> => {
  const socket = await test.open();
  const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n`;
  socket.write(head);
  expect(`${(await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 101 /);
  return overStream(socket, socket);
};

const echoHttp1 = () =>
  endpoint((asked, answer) => {
    answer.flushHeaders();
    asked.pipe(answer);
  });
async function echoHttp2(): Promise<string> {
  const server = createH2Server();
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream) => {
    stream.on('error', () => {}).respond();
    stream.pipe(stream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  afterAll(() => void server.close());
  return `127.0.0.1:${portOf(server)}`;
}
const SWITCHING =
  'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';
const echoWebSocket = () =>
  rawEndpoint((socket) =>
    socket.once('data', () => {
      socket.write(SWITCHING);
      socket.on('data', (bytes) => socket.write(bytes)).on('end', () => socket.end());
    }),
  );

const WAYS = {
  'a stream over HTTP/1.1': [overHttp1, echoHttp1, 'http1'],
  'a stream over HTTP/2': [overHttp2, echoHttp1, 'http1'],
  'a stream over HTTP/2 to an endpoint of HTTP/2': [overHttp2, echoHttp2, 'h2c'],
  'a WebSocket': [overWebSocket, echoWebSocket, 'http1'],
} as const;
/** Changes of a host, and the status of the next request. */
const CHANGES: Record<string, (host: string) => Promise<number>> = {
  'its host has no rules any more': async (host) => {
    await test.unroute(host);
    return 404;
  },
  'its Service is none any more': async (host) => {
    await test.unroute(host, true);
    return 404;
  },
  'its rules lead to another Service': async (host) => {
    await test.route(`${host}-other`, [await answering(201)]);
    await test.route(host, [], { paths: [{ path: '/', match: 'prefix', backend: `ns/${host}-other:80` }] });
    return 201;
  },
  'its endpoint is replaced': async (host) => {
    await test.route(host, [await answering(202)]);
    return 202;
  },
  'its endpoint goes': async (host) => {
    await test.route(host, []);
    return 503;
  },
};
const answering = (status: number) => endpoint((_asked, answer) => answer.writeHead(status).end());
const statusOf = async (host: string): Promise<number> => {
  const { text } = await test.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return Number(text.slice(9, 12));
};

describe.each(Object.entries(WAYS))('%s', (way, [open, serve, protocol]) => {
  it.each(Object.entries(CHANGES))('continues when %s', async (change, apply) => {
    const host = `${way} ${change}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
    await test.route(host, [await serve()], { protocol });
    const stream = await open(host);
    expect(await stream.say('before')).toBe('before');
    const next = await apply(host);
    expect(await statusOf(host)).toBe(next);
    expect(await stream.say('after')).toBe('after');
    expect(await stream.say('still')).toBe('still');
    await stream.end();
  });
});

describe('a pending answer', () => {
  it.each(Object.entries(CHANGES))('arrives when %s', async (change, apply) => {
    const host = `late-${change}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
    const answers: (() => void)[] = [];
    await test.route(host, [await endpoint((_asked, answer) => answers.push(() => answer.end('late')))]);
    const old = test.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    const session = connectH2(`https://127.0.0.1:${test.httpsPort}`, { rejectUnauthorized: false });
    sessions.add(session);
    const stream = session.request({ ':authority': host });
    const begun = once(stream, 'response');
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    const next = await apply(host);
    expect(await statusOf(host)).toBe(next);
    for (const answer of answers) answer();
    expect((await old).text).toMatch(/^HTTP\/1.1 200 [\s\S]*late$/);
    expect((await begun)[0][':status']).toBe(200);
    expect(`${(await once(stream, 'data'))[0]}`).toBe('late');
  });
});
