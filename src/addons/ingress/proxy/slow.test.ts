import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, it, vi } from 'vitest';
import { frame } from './testing/h2-frames.fixture.ts';
import { endpoint, rawEndpoint, usePlane } from './testing/plane.fixture.ts';

const test = usePlane({ idleMs: 3_000, keepAliveMs: 300, connections: 2 });

it.each([
  ['that ends with it', 'Connection: close\r\n'],
  ['that is kept', ''],
])(
  'an answer that is read slowly arrives whole, over a connection %s',
  async (_what, field) => {
    const length = 8_000_000;
    test.route('long', [await endpoint((_asked, answer) => answer.end(Buffer.alloc(length, 'x')))]);
    const socket = await test.open();
    socket.write(`GET / HTTP/1.1\r\nHost: long\r\n${field}\r\n`);
    let got = 0;
    for await (const bytes of socket) {
      got += bytes.length;
      await sleep(40);
    }
    expect(got).toBeGreaterThan(length);
  },
  30_000,
);

it('an endpoint that answers before its answer without an end is told so by 502', async () => {
  const where = await rawEndpoint((socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n'));
    };
    socket.once('data', more).on('drain', more);
  });
  test.route('hints', [where]);
  const { text } = await test.raw('GET / HTTP/1.1\r\nHost: hints\r\nConnection: close\r\n\r\n');
  expect(text.match(/HTTP\/1.1 103 /g)).toHaveLength(8);
  expect(text).toMatch(/HTTP\/1.1 502 /);
});

it('more connections than may be are closed, at both doors together', async () => {
  const plain = await test.open();
  const secure = connect(test.httpsPort, '127.0.0.1');
  await once(secure, 'connect');
  const third = await test.open();
  await once(third.resume(), 'close');
  secure.destroy();
  plain.write('GET / HTTP/1.1\r\nHost: none\r\nConnection: close\r\n\r\n');
  expect(`${(await once(plain, 'data'))[0]}`).toMatch(/^HTTP\/1.1 404 /);
});

it('a client of HTTP/2 that never closes is gone some time after it was told that its connection ends', async () => {
  const { port, connections } = { port: test.httpsPort, connections: () => test.plane.counts().connections };
  await vi.waitFor(() => expect(connections()).toBe(0), 5_000);
  const halfOpen = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const socket = connectTls({ socket: halfOpen, ALPNProtocols: ['h2'], rejectUnauthorized: false });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(4, 0, 0, ''));
  await vi.waitFor(() => expect(connections()).toBe(1), 5_000);
  await vi.waitFor(() => expect(connections()).toBe(0), 10_000);
  socket.destroy();
}, 20_000);
