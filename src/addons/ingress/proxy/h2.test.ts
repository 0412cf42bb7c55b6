import { once } from 'node:events';
import { Agent, get } from 'node:http';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  literals,
  requestTo,
  sendFrames,
} from './testing/h2-frames.fixture.ts';
import { endpoint, portOf, rawEndpoint, usePlane } from './testing/plane.fixture.ts';

const test = usePlane({ idleMs: 1_000, connectMs: 500, keepAliveMs: 1_000 });
const sessions = new Set<ClientHttp2Session>();
afterAll(() => {
  for (const session of sessions) session.destroy();
});

function open(): ClientHttp2Session {
  const session = connect(`https://127.0.0.1:${test.httpsPort}`, { rejectUnauthorized: false });
  sessions.add(session.on('error', () => {}));
  return session;
}
async function ask(session: ClientHttp2Session, host: string): Promise<number> {
  const stream = session.request({ ':authority': host });
  const [answer] = await once(stream, 'response');
  await buffer(stream);
  if (!stream.closed) await once(stream, 'close');
  return Number(answer[':status']);
}
async function h2Endpoint(
  serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<string> {
  const server = createServer();
  const opened = new Set<{ destroy(): void }>();
  server.on('session', (session) => opened.add(session));
  server.on('stream', (stream, headers) =>
    serve(
      stream.on('error', () => {}),
      headers,
    ),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    for (const session of opened) session.destroy();
  });
  return `127.0.0.1:${portOf(server)}`;
}
const isEnd = (type: number, flags: number) => type === 3 || (type <= 1 && (flags & END_STREAM) !== 0);

describe('the end of a stream', () => {
  it('leaves the connection to the endpoint to those who use it next', async () => {
    const sockets = new Set<unknown>();
    const where = await endpoint((asked, answer) => {
      sockets.add(asked.socket);
      setTimeout(() => answer.end('x'.repeat(2_000)), 2);
    });
    test.route('shared', [where]);
    const session = open();
    for (let times = 0; times < 5; times += 1) expect(await ask(session, 'shared')).toBe(200);
    expect(sockets.size).toBe(1);

    const agent = new Agent({ keepAlive: true, maxSockets: 5 });
    const askOld = async () => {
      const options = { port: test.httpPort, host: '127.0.0.1', agent, headers: { host: 'shared' } };
      const [answer] = await once(get(options), 'response');
      await buffer(answer);
      return answer.statusCode;
    };
    const statuses = new Set<unknown>();
    const loop = async (once: () => Promise<unknown>) => {
      for (let times = 0; times < 20; times += 1) statuses.add(await once());
    };
    const five = Array.from({ length: 5 });
    await Promise.all(five.flatMap(() => [loop(askOld), loop(() => ask(session, 'shared'))]));
    agent.destroy();
    expect([...statuses]).toEqual([200]);
  });

  it('that an endpoint of HTTP/2 has answered early is told to it', async () => {
    const closed = Promise.withResolvers<void>();
    test.route(
      'early',
      [
        await h2Endpoint((stream) => {
          stream.respond({ ':status': 200 });
          stream.end('early').once('close', closed.resolve);
        }),
      ],
      { protocol: 'h2c' },
    );
    const stream = open().request({ ':authority': 'early', ':method': 'POST' });
    stream.on('error', () => {});
    stream.write('of which more could come');
    expect((await once(stream, 'response'))[0][':status']).toBe(200);
    await closed.promise;
    stream.destroy();
  });
});

describe('what HTTP/2 cannot carry', () => {
  it('of a request is 400, before the endpoint’s connection is there and after', async () => {
    test.route('single', [await h2Endpoint((stream) => stream.respond({}, { endStream: true }))], {
      protocol: 'h2c',
    });
    const two =
      'GET / HTTP/1.1\r\nHost: single\r\nUser-Agent: a\r\nUser-Agent: b\r\nConnection: close\r\n\r\n';
    for (let times = 0; times < 2; times += 1) expect((await test.raw(two)).text).toMatch(/^HTTP\/1.1 400 /);
    const one = 'GET / HTTP/1.1\r\nHost: single\r\nUser-Agent: a\r\nConnection: close\r\n\r\n';
    expect((await test.raw(one)).text).toMatch(/^HTTP\/1.1 200 /);
  });

  it.each([
    ['http2-settings', 'x'],
    ['te', 'Trailers'],
    ['x-kept', 'yes'],
  ])('of a request’s trailer does not go on: %s', async (name, value) => {
    const seen: string[] = [];
    test.route(
      'trailers',
      [
        await h2Endpoint((stream) => {
          stream.on('trailers', (fields) => seen.push(...Object.keys(fields)));
          stream.resume().on('end', () => stream.respond({}, { endStream: true }));
        }),
      ],
      { protocol: 'h2c' },
    );
    const { types } = await sendFrames(
      test.httpsPort,
      [
        frame(HEADERS, END_HEADERS, 1, requestTo('trailers', 'POST')),
        frame(DATA, 0, 1, 'abc'),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, literals({ [name]: value })),
      ],
      isEnd,
    );
    expect(types).toContain(HEADERS);
    expect(test.served.at(-1)).toMatchObject({ host: 'trailers', status: 200 });
    expect(seen).toEqual(name === 'x-kept' ? ['x-kept'] : []);
  });

  it.each([
    ['two dates', '200 OK\r\nDate: a\r\nDate: b'],
    ['a status beyond all', '999 X'],
  ])('of an answer is 502: %s', async (_what, head) => {
    const where = await rawEndpoint((socket) =>
      socket.on('data', () => socket.write(`HTTP/1.1 ${head}\r\nContent-Length: 1\r\n\r\nx`)),
    );
    test.route('odd', [where]);
    expect(await ask(open(), 'odd')).toBe(502);
  });
});

it('answers that a client does not take are held for the idle time and no longer', async () => {
  test.route('held', [await endpoint((_asked, answer) => answer.end('x'.repeat(50_000)))]);
  // SETTINGS_INITIAL_WINDOW_SIZE of 0: no byte of a body may be sent.
  const closed = Buffer.from([0, 4, 0, 0, 0, 0]);
  const asked = [frame(HEADERS, END_HEADERS | END_STREAM, 1, requestTo('held'))];
  const { types } = await sendFrames(test.httpsPort, asked, (type) => type === 3, closed);
  expect([types.includes(HEADERS), types.includes(DATA), types.at(-1)]).toEqual([true, false, 3]);
});

it('a request that goes on after its answer is ended without an error', async () => {
  const stream = open().request({ ':authority': 'none', ':method': 'POST' });
  const drip = setInterval(() => stream.write('x'), 50);
  await once(stream.resume(), 'close');
  clearInterval(drip);
  expect(stream.rstCode).toBe(0);
});

it.each([
  ['HEAD', 200, /content-length: 5\r\n/],
  ['GET', 204, /^HTTP/],
  ['GET', 304, /^HTTP/],
])('an answer of HTTP/2 without a body has no chunks in HTTP/1.1: %s, %i', async (method, status, more) => {
  const where = await h2Endpoint((stream) => {
    stream.respond(
      { ':status': status, ...(status === 200 ? { 'content-length': 5 } : {}) },
      { endStream: false },
    );
    setTimeout(() => stream.end(), 20);
  });
  test.route('bodiless', [where], { protocol: 'h2c' });
  const { text } = await test.raw(`${method} / HTTP/1.1\r\nHost: bodiless\r\nConnection: close\r\n\r\n`);
  expect(text).toMatch(more);
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(text).not.toMatch(/transfer-encoding/);
  expect(text.endsWith('\r\n\r\n')).toBe(true);
});
