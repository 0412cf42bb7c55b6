import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { otlpTracer } from './otlp.ts';
import { placeOfOperation, placeOfRequest, type Span } from './span.ts';

const REQUEST = 'a'.repeat(32);
let collector: Server;
let endpoint: string;
let status: number;
let received: unknown[];
let warnings: string[];

beforeEach(async () => {
  [status, received, warnings] = [200, [], []];
  collector = createServer(async (request, response) => {
    received.push({ path: request.url, body: await json(request) });
    response.writeHead(status).end('{}');
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const address = collector.address();
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterEach(() => {
  collector.closeAllConnections();
  collector.close();
});

const clock = createManualClock();
const tracerTo = (to: string) =>
  otlpTracer({ endpoint: to, service: 'test', clock, warn: (message) => warnings.push(message) });
const span: Span = {
  ...placeOfOperation({ id: 'b7k2m9x4qz', name: 'create', requestId: REQUEST }),
  name: 'create',
  kind: 'internal',
  startMs: 1_764_410_400_000.5,
  endMs: 1_764_410_401_000,
  attributes: { text: 'yes', number: 1.5 },
  isError: true,
};

it('sends spans as OTLP, below the span of their request', async () => {
  const tracer = tracerTo(`${endpoint}/`);
  tracer.add(span);
  await tracer.close();
  const request = placeOfRequest(REQUEST);
  expect(received).toEqual([
    {
      path: '/v1/traces',
      body: {
        resourceSpans: [
          {
            resource: { attributes: [{ key: 'service.name', value: { stringValue: 'test' } }] },
            scopeSpans: [
              {
                scope: { name: 'matryoshka' },
                spans: [
                  {
                    traceId: request.traceId,
                    spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
                    parentSpanId: request.spanId,
                    name: 'create',
                    kind: 1,
                    startTimeUnixNano: '1764410400000500000',
                    endTimeUnixNano: '1764410401000000000',
                    attributes: [
                      { key: 'text', value: { stringValue: 'yes' } },
                      { key: 'number', value: { doubleValue: 1.5 } },
                    ],
                    status: { code: 2 },
                  },
                ],
              },
            ],
          },
        ],
      },
    },
  ]);
});

it('sends by itself after a second', async () => {
  const arrived = once(collector, 'request');
  tracerTo(endpoint).add(span);
  await clock.advance(1_000);
  await arrived;
  expect(warnings).toEqual([]);
});

it('says once that spans are lost, until a collector takes them again', async () => {
  const tracer = tracerTo(endpoint);
  for (const answer of [500, 500, 200, 503]) {
    status = answer;
    tracer.add(span);
    await tracer.close();
  }
  expect(warnings).toEqual([
    `spans are lost: ${endpoint}/v1/traces answers 500`,
    `spans are lost: ${endpoint}/v1/traces answers 503`,
  ]);
});

it('keeps a bounded number of spans, and survives a collector that is away', async () => {
  collector.close();
  const tracer = tracerTo('http://127.0.0.1:1');
  for (let count = 0; count < 5_000; count += 1) tracer.add(span);
  await tracer.close();
  expect(warnings).toEqual(['spans are lost: too many wait']);
});
