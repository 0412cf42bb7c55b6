import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createManualClock, type ManualClock } from '#base/testing/manual-clock.ts';
import { type EventSink, sendEvents } from './event-stream.ts';

const DRAIN_MS = 30_000;
const HEARTBEAT_MS = 15_000;
const UNREAD_BYTES = 32 * 1024 * 1024;
let app: FastifyInstance;
let clock: ManualClock;
let clients: Socket[];
let count: { departures: number };

beforeEach(() => {
  app = Fastify();
  clock = createManualClock();
  clients = [];
  count = { departures: 0 };
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await app.close();
});

/** Serves a stream, and returns a connection that has asked for it and reads nothing yet. */
async function asked(produce: (sink: EventSink) => Promise<void>): Promise<Socket> {
  // The client of a former test may leave only now.
  const counted = count;
  app.get('/', (request, reply) =>
    sendEvents(
      reply,
      {
        raw: request.raw,
        clock,
        log: createLogger('silent'),
        closing: new AbortController().signal,
        leave: () => {
          counted.departures += 1;
        },
      },
      produce,
    ),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
  clients.push(client);
  client.pause();
  client.on('error', () => {});
  client.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
  await once(client, 'connect');
  return client;
}

it('sends comments to a client while nothing happens', async () => {
  const started = Promise.withResolvers<EventSink>();
  const client = await asked(async (sink) => {
    started.resolve(sink);
    await once(sink.signal, 'abort');
  });
  await started.promise;
  const comments = Promise.withResolvers<void>();
  let text = '';
  client.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    if (text.split(':\n\n').length > 3) comments.resolve();
  });
  client.resume();
  await clock.advance(2 * HEARTBEAT_MS);
  await comments.promise;
  expect(count.departures).toBe(0);
});

it('closes the connection of a client that leaves the rest of an ended stream unread', async () => {
  const ended = Promise.withResolvers<void>();
  const client = await asked(async ({ send }) => {
    // More than the buffers of the kernel take.
    send({ event: 'line', data: 'x'.repeat(UNREAD_BYTES) });
    ended.resolve();
  });
  await ended.promise;
  await clock.advance(DRAIN_MS - 1);
  expect(count.departures).toBe(0);
  const closed = once(client, 'close');
  await clock.advance(1);
  client.resume();
  await closed;
  expect(count.departures).toBe(1);
});
