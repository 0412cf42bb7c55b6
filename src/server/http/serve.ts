import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { User } from '#access/permissions.ts';
import { takesBody } from '#rest/addressing.ts';
import type { Route } from '#rest/route.ts';
import { readLeniently, refuseTypos, warningOf } from './lenient.ts';
import { checkedTogether } from './validation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; set before any route for users is reached. */
    person: User;
  }
}

/** A request whose parts match the schemas of its route. */
export interface Asked<P, Q, B> extends Pick<FastifyRequest, 'person' | 'headers' | 'raw'> {
  params: P;
  query: Q;
  body: B;
}

/**
 * Registers the handler of a route. All parts of a request are validated first, and all problems are answered together: 400
 * for a wrong shape, 422 for a wrong value.
 */
export function serve<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  app: FastifyInstance,
  route: Route<P, Q, B, A>,
  handler: (
    asked: Asked<z.output<P>, z.output<Q>, z.output<B>>,
    reply: FastifyReply,
  ) => Promise<z.input<A> | FastifyReply>,
): void {
  app.route({
    method: route.method,
    config: { operationId: route.operationId },
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const { person, headers, raw } = request;
      const given = takesBody(route.body) ? bodyOf(route, request, reply) : undefined;
      const [params, query, body] = checkedTogether(
        [route.params, request.params],
        [route.query, request.query],
        [route.body, given],
      );
      request.checked = { params, query, body };
      reply.code(route.status ?? 200);
      return handler({ person, headers, raw, params, query, body }, reply);
    },
  });
}

function bodyOf({ body, lenient }: Route, request: FastifyRequest, reply: FastifyReply): unknown {
  if (!lenient) return request.body ?? undefined;
  const { value, unknown } = readLeniently(body, request.body ?? {});
  refuseTypos(body, unknown);
  if (unknown.length > 0) reply.header('warning', warningOf(unknown));
  return value;
}
