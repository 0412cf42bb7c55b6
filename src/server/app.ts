import { randomUUID } from 'node:crypto';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { accessBy } from '#access/access.ts';
import { reviewsBy } from '#access/reviews.ts';
import { speakersBy } from './attempts.ts';
import { authBy } from './auth.ts';
import type { ServerDeps } from './deps.ts';
import { serveDocs } from './docs.ts';
import { handleErrors } from './errors.ts';
import { parseJsonBodies } from './json-body.ts';
import { readBodiesLeniently, takeAnyContentType } from './lenient.ts';
import { logStoreIn } from './log-store.ts';
import { jobRoutes, lenientJobRoutes, routes } from './routes/index.ts';
import type { App, JobRoom, Room } from './routes/room.ts';
import { answerUnreadable } from './unreadable.ts';
import { validatorCompiler } from './validation.ts';

const BODY_BYTES = 1024 * 1024;
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;

/**
 * The REST API, not yet listening.
 * @example
 * const app = await restApp(deps);
 * await app.listen({ host: '::', port: 8443 });
 */
export async function restApp(deps: ServerDeps): Promise<FastifyInstance> {
  const { client, clock, log, reportsNamespace, tls } = deps;
  const options = {
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    clientErrorHandler: answerUnreadable,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 300, ignoreTrailingSlash: true },
  } as const;
  const app: FastifyInstance = tls
    ? Fastify({ ...options, https: { ...tls, minVersion: 'TLSv1.2' } }).withTypeProvider()
    : Fastify(options);
  app.server.headersTimeout = HEADERS_MS;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  handleErrors(app, log);
  parseJsonBodies(app);

  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort(new Error('the server stops')));
  app.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, ip, id } = request;
    const fields = { request: id, method, route: routeOptions.url, status: reply.statusCode, ip };
    log.debug({ ...fields, ms: Math.round(reply.elapsedTime) }, 'answered');
  });

  await serveDocs(app);
  app.get('/healthz', async () => 'ok');

  const reviews = reviewsBy(client, log);
  const auth = authBy(accessBy(deps, reviews));
  const logs = logStoreIn(client, reportsNamespace, clock);
  const speakers = speakersBy({ ...deps, reviews });
  const room: Room = { ...deps, auth, logs, closing: closing.signal };
  const jobRoom: JobRoom = { ...deps, logs, speakers };

  await app.register(
    async (api) => {
      await api.register(async (people) => {
        people.decorateRequest('person');
        people.addHook('onRequest', async (request) => {
          request.person = await auth.personOf(request.headers.authorization);
        });
        takeAnyContentType(people);
        for (const add of routes) add(people, room);
      });
      await api.register(async (scope) => {
        takeAnyContentType(scope);
        readBodiesLeniently(scope);
        for (const add of lenientJobRoutes) add(typed(scope), jobRoom);
      });
      for (const add of jobRoutes) add(typed(api), jobRoom);
    },
    { prefix: '/api/v1' },
  );
  await app.ready();
  return app;
}

const typed = (scope: FastifyInstance): App => scope.withTypeProvider<ZodTypeProvider>();
