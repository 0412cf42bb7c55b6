import type { FastifyInstance } from 'fastify';
import type { Clock } from '#base/clock.ts';
import { placeOfRequest, type Span } from '#tracing/span.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Id of the request for an operation, once it is accepted. */
    acceptedAs?: string | undefined;
  }
}

/** Makes a span of each request that was accepted for an operation. */
export function traceRequests(app: FastifyInstance, addSpan: (span: Span) => void, clock: Clock): void {
  app.addHook('onResponse', async ({ acceptedAs, method, routeOptions }, reply) => {
    if (acceptedAs === undefined) return;
    const endMs = clock.now().getTime();
    addSpan({
      ...placeOfRequest(acceptedAs),
      name: `${method} ${routeOptions.url}`,
      kind: 'server',
      startMs: endMs - reply.elapsedTime,
      endMs,
      // Names of the semantic conventions of OpenTelemetry for HTTP.
      attributes: {
        'http.request.method': method,
        'http.route': routeOptions.url ?? '',
        'http.response.status_code': reply.statusCode,
      },
      isError: false,
    });
  });
}
