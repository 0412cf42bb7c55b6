import { once } from 'node:events';
import { get } from 'node:http';
import { PassThrough } from 'node:stream';
import Fastify from 'fastify';
import { Registry } from 'prom-client';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '#base/testing/eventually.ts';
import { observeRequests, requestMetrics } from './request-metrics.ts';

const app = Fastify({ forceCloseConnections: true });
const registry = new Registry();
observeRequests(app, requestMetrics(registry));
const config = (operationId: string) => ({ config: { operationId } });
app.get('/whole', config('whole'), async () => ({}));
app.get('/stranger', async () => ({}));
app.get('/stream', config('stream'), async (_request, reply) => {
  const body = new PassThrough();
  body.write('one');
  return reply.send(body);
});
const arrived = Promise.withResolvers<void>();
app.get('/slow', config('slow'), () => {
  arrived.resolve();
  return new Promise(() => {});
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
afterEach(() => app.close());

/** Returns the counted requests, each as `operation code count`. */
async function counted(): Promise<string[]> {
  const { values } = (await registry.getSingleMetric('matryoshka_rest_requests_total')?.get()) ?? {
    values: [],
  };
  return values.map(({ labels: { operation, code }, value }) => `${operation} ${code} ${value}`).sort();
}

it('counts whole answers, streams that the client ends, and clients that leave', async () => {
  await (await fetch(`${url}/whole`)).text();
  await (await fetch(`${url}/stranger`)).text();
  const stream = get(`${url}/stream`);
  const [response] = await once(stream, 'response');
  await once(response, 'data');
  stream.destroy();
  const slow = get(`${url}/slow`);
  slow.on('error', () => {});
  await arrived.promise;
  slow.destroy();
  await eventually(async () => ((await counted()).length === 3 ? true : undefined));
  const text = await registry.getSingleMetricAsString('matryoshka_rest_request_duration_seconds');
  expect(Number(/_sum\{operation="slow"\} (\S+)/.exec(text)?.[1])).toBeGreaterThan(0);
  expect(await counted()).toEqual(['slow 499 1', 'stream 200 1', 'whole 200 1']);
});
