import Fastify, { type FastifyInstance } from 'fastify';
import { messageOf } from '#base/errors.ts';
import { type AdmissionRequest, answerTo, patchFor, reviewSchema } from './admission.ts';
import type { WebhookDeps } from './deps.ts';
import { admissions, mutations } from './index.ts';

/** An AdmissionReview contains an object twice; the API server accepts objects of up to 3 MiB. */
const BODY_BYTES = 8 * 1024 * 1024;
const REQUEST_MS = 10_000;

/**
 * Creates the admission webhook, which does not listen yet: POST /mutate/<plural>, then /validate/<plural>.
 * @example
 * const app = await webhookApp(deps);
 * await app.listen({ host: '::', port: 9443 });
 */
export async function webhookApp(deps: WebhookDeps): Promise<FastifyInstance> {
  const { log, tls } = deps;
  const options = {
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    forceCloseConnections: 'idle',
  } as const;
  const app: FastifyInstance = tls
    ? Fastify({ ...options, https: { ...tls, minVersion: 'TLSv1.2' } }).withTypeProvider()
    : Fastify(options);
  app.setErrorHandler((error, request, reply) => {
    log.error({ url: request.url, error: messageOf(error) }, 'an admission failed');
    reply.code(statusOf(error)).send({ message: 'failed' });
  });
  app.get('/healthz', async () => 'ok');
  for (const [plural, admit] of Object.entries(admissions)) {
    app.post(`/validate/${plural}`, async ({ body }, reply) => {
      const review = reviewIn(body);
      if (!review) return reply.code(400).send(NO_REVIEW);
      const judgement = await admit(review, deps);
      if (!judgement.allowed) {
        const { namespace, name, operation, userInfo } = review;
        const { message } = judgement;
        log.info({ namespace, name, operation, user: userInfo.username, message }, 'refused');
      }
      return reply.send(answerTo(review, judgement));
    });
  }
  for (const [plural, mutate] of Object.entries(mutations)) {
    app.post(`/mutate/${plural}`, async ({ body }, reply) => {
      const review = reviewIn(body);
      return review ? reply.send(patchFor(review, mutate(review, deps))) : reply.code(400).send(NO_REVIEW);
    });
  }
  await app.ready();
  return app;
}

const NO_REVIEW = { message: 'the body is not an AdmissionReview of v1' };
const reviewIn = (body: unknown): AdmissionRequest | undefined => reviewSchema.safeParse(body).data?.request;

/**
 * Returns the status of Fastify's own refusals (a body that is too large or not JSON); all other errors are the webhook's
 * fault.
 */
function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return 500;
  const { statusCode } = error;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500;
}
