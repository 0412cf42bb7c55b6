import { randomUUID } from 'node:crypto';
import { maxHeaderSize } from 'node:http';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { accessBy } from '#access/access.ts';
import { reviewsBy } from '#access/reviews.ts';
import { authBy } from './auth/auth.ts';
import { jobCallersBy } from './auth/job-caller.ts';
import type { JobApp } from './auth/route-deps.ts';
import { strangersBy } from './auth/strangers.ts';
import { auditRequests } from './http/audit.ts';
import { onDeparture } from './http/departure.ts';
import type { ServerDeps } from './http/deps.ts';
import { serveDocs } from './http/docs.ts';
import { handleErrors } from './http/errors.ts';
import { parseJsonBodies } from './http/json-body.ts';
import { readBodiesLeniently, takeAnyContentType } from './http/lenient.ts';
import { servePage } from './http/page.ts';
import { observeRequests } from './http/request-metrics.ts';
import { traceRequests } from './http/request-spans.ts';
import { answerUnreadable } from './http/unreadable.ts';
import { requestLimit } from './http/user-limit.ts';
import { validatorCompiler } from './http/validation.ts';
import { jobRoutes, lenientJobRoutes, routes } from './index.ts';
import { serveLogin } from './login/login-routes.ts';
import { logStoreIn } from './logs/log-store.ts';

const BODY_BYTES = 1024 * 1024;
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;

/**
 * Creates the REST API, which does not listen yet.
 * @example
 * const app = await restApp(deps);
 * await app.listen({ host: '::', port: 8443 });
 */
export async function restApp(deps: ServerDeps): Promise<FastifyInstance> {
  const { client, jobClient, tokenClient, clock, log, reportsNamespace, tls, observeRequest, pageDir } = deps;
  const options = {
    bodyLimit: BODY_BYTES,
    requestTimeout: REQUEST_MS,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    clientErrorHandler: answerUnreadable,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: 'idle',
    // A request on an open connection that meets the end of this server is answered all the same.
    return503OnClosing: false,
    // A path parameter may be as long as the path; its schema reports what is wrong with it.
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

  if (observeRequest) observeRequests(app, observeRequest);
  if (deps.addSpan) traceRequests(app, deps.addSpan, clock);

  const [strangers, otherPods] = [strangersBy(clock), strangersBy(clock)];
  if (pageDir !== undefined) servePage(app, pageDir);
  await serveLogin(app, {
    provider: deps.login,
    log,
    admit: (ip) => {
      strangers.admit(ip, undefined);
    },
  });
  await serveDocs(app);
  app.get('/healthz', async () => 'ok');

  // Token reviews have a separate client, so that invalid tokens do not delay requests with a known token.
  const reviews = { ...reviewsBy(client, log), userOf: reviewsBy(tokenClient, log).userOf };
  const auth = authBy(accessBy(deps, reviews));
  // Jobs have a separate client, so that requests of users do not delay them.
  const callers = jobCallersBy({ ...deps, client: jobClient, reviews: reviewsBy(jobClient, log) });
  const logs = logStoreIn(client, reportsNamespace, clock);
  const ofPeople = { ...deps, auth, logs, closing: closing.signal };
  const ofJobs = {
    ...deps,
    client: jobClient,
    logs: logStoreIn(jobClient, reportsNamespace, clock),
    callers,
  };
  const atOnce = requestLimit();

  await app.register(
    async (api) => {
      await api.register(async (people) => {
        people.decorateRequest('person');
        auditRequests(people, log, clock);
        people.addHook('onRequest', async (request, reply) => {
          const { authorization } = request.headers;
          const isValid = strangers.admit(request.ip, authorization);
          request.person = await auth.personOf(authorization);
          isValid();
          onDeparture(request.raw, reply.raw, atOnce.enter(request.person.username));
        });
        takeAnyContentType(people);
        for (const add of routes) add(people, ofPeople);
      });
      await api.register(async (jobs) => {
        jobs.decorateRequest('job');
        // Runs before a body is read: a caller without a Job token makes the server parse nothing.
        jobs.addHook('onRequest', async (request) => {
          const { authorization } = request.headers;
          const isValid = otherPods.admit(request.ip, authorization);
          request.job = await callers.recentCallerOf(authorization);
          isValid();
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
