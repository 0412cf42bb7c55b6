import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { plainText } from '#base/plain-text.ts';
import { auditCap } from './audit-cap.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Operation of a route, by its name in the OpenAPI document. */
    operationId?: string;
  }
  interface FastifyRequest {
    /** Whether the line of the request is written. */
    isAudited: boolean;
    /** The validated parts of the request, as its handler gets them; undefined before validation. */
    checked: { params: unknown; query: unknown; body: unknown } | undefined;
  }
}

/** Names of objects and users have at most 253 characters. */
const LONGEST = 253;
const text = z
  .string()
  .transform((value) => plainText(value).slice(0, LONGEST))
  .optional()
  .catch(undefined);
const fields = z.looseObject({ name: text, namespace: text, dryRun: text }).catch({});

/**
 * Returns the object of a request, from path, query and body. A validated request names the object that its handler acts on.
 * The text of a request that was refused earlier is read in the same way: an empty namespace is absent.
 */
function objectOf(request: FastifyRequest) {
  const { params, query, body } = request.checked ?? request;
  const [path, asked, said] = [fields.parse(params), fields.parse(query), fields.parse(body)];
  const { name } = path;
  const namespace = said.namespace || asked.namespace || (name === undefined ? undefined : 'default');
  return {
    ...(name === undefined ? {} : { kind: 'KubernetesCluster' }),
    namespace,
    name,
    ...(asked.dryRun === undefined ? {} : { dryRun: asked.dryRun }),
  };
}

/**
 * Writes one log line for each request of a user: the user, the action, the object and the status. A line contains no body,
 * no token and no other secret. It is written before the answer is sent, so no kubeconfig leaves without a line. A request
 * that the limit of its address refuses has none, and requests without a user have a few lines a second: a flood must not
 * fill the log.
 */
export function auditRequests(app: FastifyInstance, log: Logger, clock: Clock): void {
  const cap = auditCap(clock, (left) =>
    log.warn({ left }, 'audit lines of requests without a user are left out'),
  );
  app.decorateRequest('isAudited', false);
  app.decorateRequest('checked', undefined);
  app.addHook('onSend', async (request, reply) => {
    const { person, routeOptions, method, id, ip } = request;
    if (request.isAudited || (person === undefined && reply.statusCode === 429)) return;
    request.isAudited = true;
    if (person === undefined && !cap.admits()) return;
    const verb = routeOptions.config.operationId ?? method;
    const user = person === undefined ? undefined : plainText(person.username).slice(0, LONGEST);
    log.info({ request: id, user, verb, ...objectOf(request), status: reply.statusCode, ip }, 'audit');
  });
}
