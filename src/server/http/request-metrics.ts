import type { FastifyInstance } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Observes an answered request: the operation of its route in the OpenAPI document, HTTP status, seconds. */
export type ObserveRequest = (operation: string, status: number, seconds: number) => void;

/** Adds metrics of requests. Returns their observer. */
export function requestMetrics(registry: Registry): ObserveRequest {
  const registers = [registry];
  const count = new Counter({
    name: 'matryoshka_rest_requests_total',
    help: 'Requests of users and Jobs; code 499: the connection ended before the answer began',
    labelNames: ['operation', 'code'],
    registers,
  });
  const time = new Histogram({
    name: 'matryoshka_rest_request_duration_seconds',
    help: 'Time of a request until its answer ends; of events and a followed log, the whole time',
    buckets: SECONDS,
    labelNames: ['operation'],
    registers,
  });
  return (operation, status, seconds) => {
    count.inc({ operation, code: String(status) });
    time.observe({ operation }, seconds);
  };
}

/** Code of a request whose connection ended before the answer began, as nginx counts it. */
const UNANSWERED = 499;

/**
 * Observes each request whose route has an operation, so that paths of strangers make no series. Most clients end a stream of
 * events themselves, so it is the end of the response that counts, not whether it was sent whole.
 */
export function observeRequests(app: FastifyInstance, observe: ObserveRequest): void {
  app.addHook('onRequest', async ({ routeOptions }, reply) => {
    const { operationId } = routeOptions.config;
    if (operationId === undefined) return;
    const began = performance.now();
    reply.raw.once('close', () => {
      const code = reply.raw.headersSent ? reply.raw.statusCode : UNANSWERED;
      observe(operationId, code, (performance.now() - began) / 1_000);
    });
  });
}
