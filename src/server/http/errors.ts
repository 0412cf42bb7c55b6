import { STATUS_CODES } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ReviewFailed } from '#access/reviews.ts';
import { MAX_PROBLEMS, messageOf, type Problem, sentenceOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import { ERRORS, ERRORS_PATH, type ErrorKind, kindOf, PROBLEM_JSON } from '#rest/errors.ts';
import { type ApiError, isApiError } from '#runtime/wire/api-error.ts';
import { lingeringClose } from './linger.ts';
import { asSpelledByRest } from './problems.ts';
import { routeTableOf } from './route-table.ts';

/** An answer with an error status. Its message goes to the client: never a secret, never a stack trace. */
export class HttpError extends Error {
  override name = 'HttpError';
  readonly statusCode: number;
  readonly problems: readonly Problem[];
  /** Entry of the catalogue. */
  readonly kind: ErrorKind;

  constructor(statusCode: number, message: string, problems: readonly Problem[] = [], kind?: ErrorKind) {
    super(message);
    this.statusCode = statusCode;
    this.problems = problems.slice(0, MAX_PROBLEMS);
    this.kind = kind ?? kindOf(statusCode);
  }
}

const sentence = (problems: readonly Problem[], total?: number): string =>
  sentenceOf(
    problems,
    ({ field, value, reason }) =>
      value === undefined ? `${field} ${reason}` : `${field} ${JSON.stringify(value)} ${reason}`,
    total,
  );

export const unauthorized = (message: string): HttpError => new HttpError(401, message);
export const forbidden = (message: string): HttpError => new HttpError(403, message);
export const notFound = (message: string): HttpError => new HttpError(404, message);
export const conflict = (message: string, kind?: ErrorKind): HttpError =>
  new HttpError(409, message, [], kind);
/** Returns the error for a list that was paged so slowly that the API server no longer has its state. */
const tooOld = (): HttpError => {
  const problems = [{ field: 'continue', reason: 'is too old; begin again without it' }];
  return new HttpError(410, sentence(problems), problems);
};
/** Returns the error for input of the wrong shape; `total` counts problems beyond the given ones. */
export const malformed = (problems: readonly Problem[], total?: number): HttpError =>
  new HttpError(400, sentence(problems, total), problems);
/** Returns the error for input of the right shape with invalid values. */
export const unprocessable = (problems: readonly Problem[], total?: number): HttpError =>
  new HttpError(422, sentence(problems, total), problems);

/** The error envelope of kubernetes-operator; `errors` is an addition. */
export interface ErrorBody {
  code: string;
  message: string;
  errors?: readonly Problem[];
}

/** Returns an error as RFC 9457 has it, with the page of the catalogue as its type. */
const problemDetails = ({ statusCode, message, problems, kind }: HttpError): object => ({
  type: `${ERRORS_PATH}#${kind}`,
  title: ERRORS[kind].title,
  status: statusCode,
  detail: message,
  ...(problems.length === 0 ? {} : { errors: problems }),
});

export const envelope = (status: number, message: string, problems: readonly Problem[] = []): ErrorBody => ({
  code: STATUS_CODES[status] ?? 'Error',
  message,
  ...(problems.length === 0 ? {} : { errors: problems }),
});

/** Converts a refusal of the API server for the client. */
function fromApiError(error: ApiError): HttpError {
  if (error.reason === 'Invalid' || error.reason === 'BadRequest') {
    const problems = error.causes.map(({ field, message }) =>
      asSpelledByRest({ field, reason: reasonIn(message) }),
    );
    return new HttpError(422, problems.length > 0 ? sentence(problems) : error.message, problems);
  }
  if (error.reason === 'NotFound') return notFound(error.message);
  if (error.reason === 'AlreadyExists') return conflict(error.message);
  if (error.reason === 'Conflict')
    return conflict('the cluster was changed meanwhile; read it, then try again');
  if (error.reason === 'Forbidden') return ownLack(error.message) ?? forbidden(error.message);
  if (error.reason === 'Expired') return tooOld();
  if (error.reason === 'RequestEntityTooLarge') return new HttpError(413, 'the object would be too large');
  return new HttpError(503, 'the Kubernetes API does not answer as it should; try again later');
}

/** Returns 503 if RBAC refused the server's own account: the caller's permissions were checked before. */
function ownLack(message: string): HttpError | undefined {
  const what = /User "[^"]*" (cannot .*)$/s.exec(message)?.[1];
  if (what === undefined) return undefined;
  return new HttpError(
    503,
    `the operator lacks a right: it ${what}; ask an administrator to serve the namespace`,
  );
}

/** Removes `Invalid value: "…": ` from the message of a cause; the reason follows it. */
const reasonIn = (message: string): string => message.replace(/^Invalid value: (".*?"|[^"].*?): /s, '');

const BODY_TOO_LARGE = 'FST_ERR_CTP_BODY_TOO_LARGE';

/** Messages for refusals of Fastify itself: its own texts name internals. */
const BY_CODE: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'the body is not valid JSON',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'the body is empty; it must be a JSON object',
  [BODY_TOO_LARGE]: 'the body is larger than 1 MiB',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'the content type must be application/json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body is not as long as Content-Length says',
  FST_ERR_BAD_URL: 'the path is not a valid URL',
};

interface Coded {
  statusCode: number;
  code: string;
}

const isCoded = (error: unknown): error is Coded =>
  typeof error === 'object' &&
  error !== null &&
  'statusCode' in error &&
  typeof error.statusCode === 'number' &&
  'code' in error &&
  typeof error.code === 'string';

/** Returns the answer to an error; undefined for a fault of the server. */
export function answerTo(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof ReviewFailed) return new HttpError(503, error.message);
  if (isApiError(error)) return fromApiError(error);
  if (error instanceof SyntaxError) return new HttpError(400, 'the body is not valid JSON');
  if (isCoded(error) && error.statusCode >= 400 && error.statusCode < 500) {
    const { statusCode, code } = error;
    return new HttpError(statusCode, BY_CODE[code] ?? STATUS_CODES[statusCode] ?? 'the request is refused');
  }
  return undefined;
}

/** The server does not read a longer body of a caller without a valid token: it answers and closes the connection. */
const DRAINED_BYTES = 64 * 1024;

/** Returns the length that a request states for its body; a chunked body may have any length. */
function bodyBytesOf({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/** Sends an error in the form that the client accepts: the envelope, or problem details. */
function sendError({ headers }: FastifyRequest, reply: FastifyReply, error: HttpError): void {
  const { statusCode, message, problems } = error;
  if (headers.accept?.includes(PROBLEM_JSON)) {
    // Serialized here: the compiler of the routes knows only JSON.
    reply
      .code(statusCode)
      .type(PROBLEM_JSON)
      .send(JSON.stringify(problemDetails(error)));
    return;
  }
  reply
    .code(statusCode)
    .type('application/json')
    .send(envelope(statusCode, message, problems));
}

/** Answers every error of `app` with an envelope, and logs faults of the server. Call it before any route is registered. */
export function handleErrors(app: FastifyInstance, log: Logger): void {
  const table = routeTableOf(app);
  const closeAfterAnswer = lingeringClose();
  const noRoute = (request: FastifyRequest, reply: FastifyReply): void => {
    const [path = ''] = request.url.split('?');
    const methods = table.methodsOf(path);
    const allow = methods.join(', ');
    if (methods.length > 0) reply.header('allow', allow);
    const [status, message] =
      methods.length > 0
        ? [405, `${request.method} is not a method of this path; choose one of ${allow}`]
        : [404, 'there is no such route; see /docs'];
    sendError(request, reply, new HttpError(status, message));
  };
  app.setErrorHandler((error, request, reply) => {
    // Fastify reads the body of some methods before it finds that the path has no such method.
    if (request.is404) return noRoute(request, reply);
    const answer = answerTo(error);
    if (!answer || answer.statusCode === 500 || answer.statusCode === 503) {
      const stack = error instanceof Error ? error.stack : undefined;
      log.error(
        { request: request.id, route: request.routeOptions.url, error: messageOf(error), stack },
        'failed',
      );
    }
    const { statusCode, message } = answer ?? new HttpError(500, 'the server failed; see its log');
    if (statusCode === 401) reply.header('www-authenticate', 'Bearer');
    if ((statusCode === 401 || statusCode === 429) && bodyBytesOf(request) > DRAINED_BYTES)
      closeAfterAnswer(reply, { isDrained: false });
    if (isCoded(error) && error.code === BODY_TOO_LARGE) closeAfterAnswer(reply, { isDrained: true });
    if (statusCode === 503 || statusCode === 429) reply.header('retry-after', '5');
    sendError(request, reply, answer ?? new HttpError(500, message));
  });
  app.setNotFoundHandler(noRoute);
}
