import type { FastifyInstance } from 'fastify';
import type { Send } from '#rest/client.ts';

/** Returns a sender that injects a client's requests into a server that does not listen: for tests. */
export const into =
  (app: FastifyInstance): Send =>
  async ({ method, path, headers, body }) => {
    const payload = body === undefined ? {} : { payload: body };
    const answer = await app.inject({ method, url: `/api/v1${path}`, headers, ...payload });
    return { status: answer.statusCode, headers: answer.headers, text: answer.body };
  };
