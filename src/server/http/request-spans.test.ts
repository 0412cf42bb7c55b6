import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { placeOfOperation, type Span } from '#tracing/span.ts';
import { traceRequests } from './request-spans.ts';

const REQUEST = 'a'.repeat(32);
it('makes a span of each accepted request, above that of its operation', async () => {
  const spans: Span[] = [];
  const app = Fastify();
  traceRequests(app, (span) => spans.push(span), createManualClock());
  app.get('/read', async () => 'read');
  app.post('/clusters/:name/renew', async (request, reply) => {
    request.acceptedAs = REQUEST;
    return reply.code(202).send();
  });
  await app.inject({ method: 'GET', url: '/read' });
  await app.inject({ method: 'POST', url: '/clusters/demo/renew' });
  await app.close();
  expect(spans).toMatchObject([
    {
      name: 'POST /clusters/:name/renew',
      kind: 'server',
      attributes: { 'http.response.status_code': 202, 'http.route': '/clusters/:name/renew' },
    },
  ]);
  const operation = placeOfOperation({ id: 'b7k2m9x4qz', name: 'create', requestId: REQUEST });
  expect(operation).toMatchObject({ traceId: spans[0]?.traceId, parentSpanId: spans[0]?.spanId });
});
