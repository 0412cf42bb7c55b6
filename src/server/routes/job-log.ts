import { z } from 'zod';
import { forbidden } from '../errors.ts';
import type { JobRoutes } from './room.ts';

/**
 * Where Jobs send their events while they run, in chunks that may be repeated; 409 with `next` when `offset` does not
 * continue what is stored.
 */
export const jobLogRoutes: JobRoutes = (app, { logs, speakers }) => {
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
    async ({ params, query: { offset, step }, body, headers }, reply) => {
      const speaker = await speakers.recentSpeakerOf(headers.authorization);
      if (speaker.job !== params.job || speaker.ended)
        throw forbidden('the token is not that of the pod of a running attempt');
      const chunk = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
      const { next, ok } = await logs.append(speaker, offset, chunk, step);
      return reply.code(ok ? 200 : 409).send({ next });
    },
  );
};
