import { z } from 'zod';
import { errorSchema } from '../bodies.ts';
import { forbidden } from '../errors.ts';
import type { JobRoutes } from './room.ts';

const nextSchema = z.object({
  next: z.int().meta({ description: 'The offset from which to go on, in bytes.' }),
});

/** Where Jobs send their events while they run, in chunks that may be repeated. */
export const jobLogRoutes: JobRoutes = (app, { logs, speakers }) => {
  app.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  app.post(
    '/jobs/:job/log',
    {
      schema: {
        summary: 'Events of a Job',
        description:
          'Newline-delimited JSON. 409 with `next` when `offset` does not continue what is stored.',
        tags: ['jobs'],
        params: z.object({ job: z.string().max(63) }),
        querystring: z.object({
          offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
          step: z.string().min(1).max(200).optional(),
        }),
        response: { 200: nextSchema, 409: nextSchema, '4xx': errorSchema },
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
