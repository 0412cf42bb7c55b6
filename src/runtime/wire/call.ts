import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { type Clock, sleep, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { ApiError, isApiError } from './api-error.ts';
import { type Endpoint, type Headers, isPromise } from './endpoint.ts';
import { explainError } from './explain-error.ts';
import { parseAnswer, parseListAnswer } from './json-answer.ts';
import { type RateLimit, tokenBucket } from './rate-limit.ts';
import { type Query, queryString } from './resource-path.ts';
import { errorFromAnswer } from './status-error.ts';
import {
  connectionError,
  createTransport,
  isSuccess,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from './transport.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Limit of the whole call, including its retries. Default 30,000; for streams, until the headers. */
  timeoutMs?: number | undefined;
  /**
   * Longest wait that the server may ask for (Retry-After); a call with a longer one rejects with the server's error.
   * Default: the time that `timeoutMs` leaves. For callers that have other work meanwhile.
   */
  maxRetryWaitMs?: number | undefined;
}

export interface ApiRequest extends CallOptions {
  method: Method;
  path: string;
  query?: Query | undefined;
  /** Body, which is sent as JSON. */
  body?: unknown;
  /** Default application/json. */
  contentType?: string | undefined;
  /** Runs directly before each exchange and each repetition, with no await in between; an error ends the call. */
  guard?: (() => void) | undefined;
  /** Whether the answer is a list, which may be long and is parsed as it arrives. */
  list?: boolean | undefined;
}

/** Exchanges with the API server: JSON in, parsed JSON out. */
export interface Caller {
  /** Sends a request and returns its answer. Rejects with ApiError, or with the reason of `signal`. */
  call(request: ApiRequest): Promise<unknown>;
  /** Sends a request and returns the body as a stream (watch, pod logs). */
  stream(request: ApiRequest): Promise<Readable>;
  close(): Promise<void>;
}

export interface CallerOptions extends TransportOptions {
  userAgent: string;
  /** Calls per second; absent: no limit on this side (the server has its own). */
  qps?: number | undefined;
  /** Calls at once beyond `qps`. Default twice `qps`. */
  burst?: number | undefined;
  clock?: Clock | undefined;
  transport?: Transport | undefined;
  /** Runs once for each exchange; code is the HTTP status, or 'error' if there was none. */
  observe?: ((method: string, code: number | 'error', seconds: number) => void) | undefined;
}

const MAX_RETRIES = 10;
/** Length of an answer in characters; longer ones are parsed after a turn of the event loop. */
const BREATH = 256 * 1024;

/**
 * Calls with authentication, rate limit, timeout and retries. It retries 429 and 5xx that carry Retry-After (client-go
 * rest/with_retry.go), a GET whose connection broke, and a 401 once after reading the credentials again. It never repeats a
 * write whose connection broke, because only the caller can find out whether it happened.
 */
export function createCaller(endpoint: Endpoint, options: CallerOptions): Caller {
  const { clock = systemClock, qps, userAgent, observe } = options;
  const transport = options.transport ?? createTransport(endpoint, options);
  const limit: RateLimit = qps ? tokenBucket(qps, options.burst ?? qps * 2, clock) : async () => {};

  async function withRetries<A>(
    request: ApiRequest,
    signal: AbortSignal,
    attempt: () => Promise<A>,
  ): Promise<A> {
    let refreshed = false;
    for (let tried = 0; ; tried += 1) {
      if (qps) await limit(signal);
      const started = clock.monotonicMs();
      const seconds = () => (clock.monotonicMs() - started) / 1000;
      try {
        const answer = await attempt();
        observe?.(request.method, 200, seconds());
        return answer;
      } catch (error) {
        observe?.(request.method, (isApiError(error) && error.status) || 'error', seconds());
        if (!isApiError(error) || signal.aborted) throw error;
        if (error.reason === 'Unauthorized' && !refreshed && endpoint.refresh) {
          refreshed = true;
          endpoint.refresh();
          continue;
        }
        const waitMs = retryAfterMs(request.method, error);
        if (waitMs === undefined || tried >= MAX_RETRIES) throw error;
        if (waitMs > (request.maxRetryWaitMs ?? Number.POSITIVE_INFINITY)) throw error;
        await sleep(waitMs, signal, clock);
      }
    }
  }

  async function headersOf(request: ApiRequest): Promise<Record<string, string>> {
    return {
      ...(await credentialsOf(endpoint)),
      accept: 'application/json',
      'user-agent': userAgent,
      ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
    };
  }

  return {
    async call(request) {
      const path = request.path + queryString(request.query ?? {});
      const what = `${request.method} ${path}`;
      const body = request.body === undefined ? undefined : JSON.stringify(request.body);
      const read: WireRequest['read'] = request.list
        ? (chunks, status) => parseListAnswer(chunks, status, what)
        : undefined;
      return bounded(request, what, clock, (signal) =>
        withRetries(request, signal, async () => {
          const headers = await headersOf(request);
          signal.throwIfAborted();
          request.guard?.();
          const answer = await transport.send({ method: request.method, path, headers, body, signal, read });
          if (!isSuccess(answer.status)) {
            throw explainError(
              errorFromAnswer(answer.status, answer.text, answer.retryAfter, what),
              endpoint,
            );
          }
          if (answer.value !== undefined) return answer.value;
          // Receiving and parsing a long answer each block the event loop.
          if (answer.text.length > BREATH) await setImmediate();
          return parseAnswer(answer.text, answer.status, what);
        }),
      );
    },
    async stream(request) {
      const path = request.path + queryString(request.query ?? {});
      const what = `${request.method} ${path}`;
      // The signal also ends the stream after the headers; the timeout is for the headers only.
      const life = new AbortController();
      const follow = () => life.abort(request.signal?.reason);
      if (request.signal?.aborted) follow();
      request.signal?.addEventListener('abort', follow, { once: true });
      const unfollow = () => request.signal?.removeEventListener('abort', follow);
      try {
        const body = await bounded({ ...request, signal: undefined }, what, clock, async (timeout) => {
          const onTimeout = () => life.abort(timeout.reason);
          timeout.addEventListener('abort', onTimeout, { once: true });
          const headers = await headersOf(request);
          const stream = await transport.open({ method: request.method, path, headers, signal: life.signal });
          timeout.removeEventListener('abort', onTimeout);
          return stream;
        });
        body.once('close', unfollow);
        return body;
      } catch (error) {
        unfollow();
        if (isApiError(error, 'Unauthorized')) endpoint.refresh?.();
        throw explainError(connectionError(error, life.signal, what), endpoint);
      }
    },
    close: () => transport.close(),
  };
}

/** Returns the caller's authentication headers, whose plugin may fail at any call. */
async function credentialsOf(endpoint: Endpoint): Promise<Headers> {
  try {
    const own = endpoint.headers();
    return isPromise(own) ? await own : own;
  } catch (error) {
    throw new ApiError('Connection', messageOf(error), { status: 0, cause: error });
  }
}

/** Runs `work` with a signal that aborts with the caller's signal, or with a Timeout. */
async function bounded<A>(
  { signal: outer, timeoutMs = 30_000 }: CallOptions,
  what: string,
  clock: Clock,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', onAbort, { once: true });
  const cancel = clock.after(timeoutMs, () =>
    controller.abort(
      new ApiError('Timeout', `${what}: no answer within ${timeoutMs / 1000} s`, { status: 0 }),
    ),
  );
  try {
    return await work(controller.signal);
  } finally {
    cancel();
    outer?.removeEventListener('abort', onAbort);
  }
}

/** Returns the milliseconds until the next attempt; undefined if there is none. */
function retryAfterMs(method: Method, error: ApiError): number | undefined {
  const asked = error.retryAfterSeconds;
  if (asked !== undefined && (error.status === 429 || error.status >= 500)) return Math.min(asked, 30) * 1000;
  return method === 'GET' && error.reason === 'Connection' && isReset(error.cause) ? 100 : undefined;
}

/** Whether the server had closed a kept-alive connection: a new one may work. After a refused one, it would not. */
function isReset(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : '';
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}
