import type { FastifyInstance } from 'fastify';
import { HttpError } from './errors.ts';

const CLUSTER = '/region/:region/cluster/:name';
const ABSENT: readonly ['GET' | 'POST', string][] = [
  ...['update', 'rollback', 'snapshot', 'restore', 'renew', 'cancel', 'pause', 'resume'].map(
    (word): ['POST', string] => ['POST', `${CLUSTER}/${word}`],
  ),
  ...['operations', 'operations/:id', 'operations/:id/logs', 'operations/:id/events', 'snapshots'].map(
    (path): ['GET', string] => ['GET', `${CLUSTER}/${path}`],
  ),
];

/** What the contract has and this version has not: said plainly, and not in the documentation. */
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
