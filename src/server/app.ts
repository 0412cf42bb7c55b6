import { randomUUID } from 'node:crypto';
import { maxHeaderSize } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { accessBy } from '#access/access.ts';
import { reviewsBy } from '#access/reviews.ts';
import { authBy } from './auth/auth.ts';
import { jobCallersBy } from './auth/job-caller.ts';
import type { JobApp } from './auth/route-deps.ts';
import type { ServerDeps } from './http/deps.ts';
import { serveDocs } from './http/docs.ts';
import { handleErrors } from './http/errors.ts';
import { parseJsonBodies } from './http/json-body.ts';
import { readBodiesLeniently, takeAnyContentType } from './http/lenient.ts';
import { answerUnreadable } from './http/unreadable.ts';
import { validatorCompiler } from './http/validation.ts';
import { jobRoutes, lenientJobRoutes, routes } from './index.ts';
import { logStoreIn } from './logs/log-store.ts';

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
    // A part of the path may be as long as the path; what is wrong with it, its schema says.
    routerOptions: { maxParamLength: maxHeaderSize, ignoreTrailingSlash: true },
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

  const auth = authBy(accessBy(deps));
  const logs = logStoreIn(client, reportsNamespace, clock);
  // Of their own: tokens that strangers make up do not keep Jobs waiting.
  const callers = jobCallersBy({ ...deps, reviews: reviewsBy(client, log) });
  const ofPeople = { ...deps, auth, logs, closing: closing.signal };
  const ofJobs = { ...deps, logs, callers };

  await app.register(
    async (api) => {
      await api.register(async (people) => {
        people.decorateRequest('person');
        people.addHook('onRequest', async (request) => {
          request.person = await auth.personOf(request.headers.authorization);
        });
        takeAnyContentType(people);
        for (const add of routes) add(people, ofPeople);
      });
      await api.register(async (jobs) => {
        jobs.decorateRequest('job');
        // Before a body is read: whoever has no token of a Job's pod makes the server parse nothing.
        jobs.addHook('onRequest', async (request) => {
          request.job = await callers.recentCallerOf(request.headers.authorization);
        });
        await jobs.register(async (scope) => {
          takeAnyContentType(scope);
          readBodiesLeniently(scope);
          for (const add of lenientJobRoutes) add(typed(scope), ofJobs);
        });
        for (const add of jobRoutes) add(typed(jobs), ofJobs);
      });
    },
    { prefix: '/api/v1' },
  );
  await app.ready();
  return app;
}

const typed = (scope: FastifyInstance): JobApp => scope.withTypeProvider<ZodTypeProvider>();
