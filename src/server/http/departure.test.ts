import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { onDeparture } from './departure.ts';

const GET = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';
const server = createServer();
let port = 0;
beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: string | AddressInfo | null = server.address();
  port = typeof address === 'object' && address ? address.port : 0;
});
afterEach(async () => {
  server.removeAllListeners('request');
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Returns the requests that a client sends over one connection, once the server has all of them. */
async function sent(count: number) {
  const all: { request: IncomingMessage; response: ServerResponse }[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    all.push({ request, response });
    if (all.length === count) resolve();
  });
  const client = connect(port, '127.0.0.1');
  client.on('error', () => {});
  client.write(GET.repeat(count));
  await promise;
  return { client, all };
}

it('detects a client that left before the listener was added', async () => {
  const { client, all } = await sent(2);
  const closed = all.map(({ request }) => once(request.socket, 'close'));
  client.destroy();
  await Promise.all(closed);
  await new Promise(setImmediate);
  let left = 0;
  for (const { request, response } of all) onDeparture(request, response, () => (left += 1));
  expect(left).toBe(2);
});

it('detects the end of pipelined requests when their connection closes, each once', async () => {
  const { client, all } = await sent(3);
  const left = [0, 0, 0];
  all.forEach(({ request, response }, at) => {
    onDeparture(request, response, () => {
      left[at] = (left[at] ?? 0) + 1;
    });
  });
  const [first] = all;
  first?.response.end('done');
  await once(client, 'data');
  await new Promise(setImmediate);
  expect(left).toEqual([1, 0, 0]);
  const closed = all.map(({ request }) => once(request.socket, 'close'));
  client.destroy();
  await Promise.all(closed);
  await new Promise(setImmediate);
  expect(left).toEqual([1, 1, 1]);
});
