import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';

const ASYNC = 'respond-async';

/** Whether a client asks for the status of long work instead of its object (RFC 7240, 4.1). */
const prefersAsync = ({ prefer }: IncomingHttpHeaders): boolean =>
  [prefer]
    .flat()
    .some((line) => (line ?? '').split(',').some((one) => one.split(';')[0]?.trim().toLowerCase() === ASYNC));

/**
 * Says where the result of an accepted request is: 200 and the path of the cluster, as in kubernetes-operator; for a client
 * that prefers `respond-async`, 202 and the path of the operation.
 */
export function accepted(
  reply: FastifyReply,
  headers: IncomingHttpHeaders,
  paths: { cluster: string; operation: string },
): void {
  const isAsync = prefersAsync(headers);
  if (isAsync) reply.code(202).header('preference-applied', ASYNC);
  reply.header('location', isAsync ? paths.operation : paths.cluster);
}
