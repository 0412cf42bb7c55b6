import { z } from 'zod';
import type { LogAnswer } from '#protocol/log.ts';
import type { JobApp, JobDeps } from '../auth/route-deps.ts';
import { forbidden } from '../http/errors.ts';
import type { LogStore } from './log-store.ts';

export interface JobLogDeps extends JobDeps {
  logs: LogStore;
}

/**
 * Accepts events of running Jobs, in chunks that may be repeated; 409 with `next` if `offset` does not continue the stored
 * log. A request with neither chunk nor step stores nothing. Each answer says whether the run is cancelled.
 */
export const jobLogRoutes = (app: JobApp, { logs, callers }: JobLogDeps): void => {
  app.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.post(
    '/jobs/:job/log',
    {
      schema: {
        params: z.object({ job: z.string().max(63) }),
        querystring: z.object({
          offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
          step: z.string().min(1).max(200).optional(),
        }),
      },
    },
    async ({ params, query: { offset, step }, body, job: caller }, reply) => {
      if (caller.job !== params.job || caller.ended)
        throw forbidden('the token does not belong to the pod of a running attempt');
      const chunk = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
      const isQuestion = chunk.length === 0 && step === undefined;
      const { next, ok } = isQuestion
        ? { next: offset, ok: true }
        : await logs.append(caller, offset, chunk, step);
      const [stop, followed] = await Promise.all([callers.isCancelled(caller), logs.isFollowed(caller.job)]);
      const answer = { next, ...(stop ? { stop } : {}), ...(followed ? { followed } : {}) };
      return reply.code(ok ? 200 : 409).send(answer satisfies LogAnswer);
    },
  );
};
