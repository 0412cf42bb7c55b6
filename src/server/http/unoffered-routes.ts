import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

const CLUSTER = '/region/:region/cluster/:name';
const ABSENT: readonly ['GET' | 'POST', string][] = [['GET', `${CLUSTER}/operations/:id/events`]];

/** Answers 501 for routes of the contract that this version lacks; the OpenAPI document leaves them out. */
export const unofferedRoutes = (app: FastifyInstance): void => {
  for (const [method, url] of ABSENT) {
    app.route({
      method,
      url,
      handler: async (request) => {
        const [path = ''] = request.url.split('?');
        throw new HttpError(501, `${method} ${path} is not implemented yet`);
      },
    });
  }
};
