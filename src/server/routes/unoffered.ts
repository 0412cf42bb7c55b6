import { HttpError } from '../errors.ts';
import type { Routes } from './room.ts';

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
export const unofferedRoutes: Routes = (app) => {
  for (const [method, url] of ABSENT) {
    app.route({
      method,
      url,
      schema: { hide: true },
      handler: async () => {
        throw new HttpError(501, `${method} ${url} is not implemented yet`);
      },
    });
  }
};
