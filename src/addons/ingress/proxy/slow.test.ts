import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { endpoint, useProxy } from './testing/proxy.fixture.ts';

const test = useProxy({ idleSeconds: 3, keepAliveSeconds: 1, connections: 2 });

it.each([
  ['that ends with it', 'Connection: close\r\n'],
  ['that is kept', ''],
])(
  'an answer that is read slowly arrives complete, over a connection %s',
  async (_what, field) => {
    const length = 8_000_000;
    await test.route('long', [await endpoint((_asked, answer) => answer.end(Buffer.alloc(length, 'x')))]);
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

it('connections beyond the limit wait until another one ends', async () => {
  const first = await test.open();
  const secure = connect(test.httpsPort, '127.0.0.1');
  await once(secure, 'connect');
  const third = await test.open();
  third.write('GET / HTTP/1.1\r\nHost: none\r\nConnection: close\r\n\r\n');
  const answered = once(third, 'data');
  first.destroy();
  expect(`${(await answered)[0]}`).toMatch(/^HTTP\/1.1 404 /);
  secure.destroy();
});
