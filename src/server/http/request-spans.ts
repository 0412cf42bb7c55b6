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
  app.addHook('onRequest', async (request, reply) => {
    const startMs = clock.now().getTime();
    // A client that leaves early does not take back its request.
    reply.raw.once('close', () => {
      const { acceptedAs, method, routeOptions } = request;
      if (acceptedAs === undefined) return;
      addSpan({
        ...placeOfRequest(acceptedAs),
        name: `${method} ${routeOptions.url}`,
        kind: 'server',
        startMs,
        endMs: clock.now().getTime(),
        // Names of the semantic conventions of OpenTelemetry for HTTP.
        attributes: {
          'http.request.method': method,
          'http.route': routeOptions.url ?? '',
          'http.response.status_code': reply.raw.statusCode,
        },
        isError: false,
      });
    });
  });
}
