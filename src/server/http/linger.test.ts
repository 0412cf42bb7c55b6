import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { HttpError, handleErrors } from './errors.ts';

const BODY_BYTES = 1024 * 1024;
let app: ReturnType<typeof Fastify>;
let port = 0;

beforeEach(async () => {
  app = Fastify({ bodyLimit: BODY_BYTES });
  handleErrors(app, createLogger('silent'));
  app.post('/', async () => 'read');
  app.post('/stranger', {
    onRequest: async () => {
      throw new HttpError(401, 'a bearer token is required');
    },
    handler: async () => 'read',
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = app.addresses()[0]?.port ?? 0;
});
afterEach(() => app.close());

/** Sends a body after the answer has arrived, and reads only then: Python's TLS clients fail if that write fails. */
async function answerTo(path: string, bytes: number): Promise<string> {
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  client.write(`POST ${path} HTTP/1.1\r\nHost: test\r\n`);
  client.write(`Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`);
  await once(client, 'readable');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.on('error', reject);
  client.write(Buffer.alloc(bytes, ' '), () => resolve());
  await promise;
  const answer = await text(client);
  client.destroy();
  return answer;
}

it('answers 413 to a client that sends its long body before it reads', async () => {
  const answer = await answerTo('/', 20 * BODY_BYTES);
  expect(answer).toMatch(/^HTTP\/1\.1 413 .*connection: close.*the body is larger than 1 MiB/s);
});

it('answers 401 to a client without a token that sends its body before it reads', async () => {
  const answer = await answerTo('/stranger', BODY_BYTES);
  expect(answer).toMatch(/^HTTP\/1\.1 401 .*connection: close.*a bearer token is required/s);
});

it('does not read an endless body without a token', async () => {
  const client = connect({ port, host: '127.0.0.1' });
  client.on('error', () => {});
  const ended = new Promise((resolve) => client.once('close', resolve));
  client.write('POST /stranger HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000\r\n\r\n');
  const chunk = Buffer.alloc(1024 * 1024, ' ');
  const more = (): void => {
    while (!client.destroyed && client.write(chunk));
  };
  client.on('drain', more);
  more();
  await ended;
  expect(client.bytesWritten).toBeLessThan(100_000_000);
});

it('keeps at most 100 connections waiting', async () => {
  const clients = Array.from({ length: 110 }, () =>
    connect({ port, host: '127.0.0.1', allowHalfOpen: true }),
  );
  const answers = clients.map(async (client) => {
    client.on('error', () => {});
    client.write(`POST /stranger HTTP/1.1\r\nHost: test\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`);
    return text(client);
  });
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  const open = await new Promise<number>((resolve, reject) =>
    app.server.getConnections((error: Error | null, count: number) =>
      error ? reject(error) : resolve(count),
    ),
  );
  for (const client of clients) client.destroy();
  expect(open).toBe(100);
});
