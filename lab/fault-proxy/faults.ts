/** A request as the rules see it. */
export interface SeenRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Number of earlier requests of this method and path, with watches counted separately. The first has 0. */
  readonly nth: number;
  /** Milliseconds since the proxy's start, on a monotonic clock. */
  readonly atMs: number;
  /** Whether it requests all objects: a list, or a watch that begins with one. */
  readonly lists: boolean;
  readonly watch: boolean;
}

/** Fault of one request. */
export type Fault =
  /** Reaches the server `ms` later. */
  | { kind: 'delay'; ms: number }
  /** Reaches the server when the promise is fulfilled. */
  | { kind: 'wait'; until: Promise<unknown> }
  /** Does not reach the server: its connection is reset. */
  | { kind: 'reset' }
  /** Its connection falls silent in both directions without closing, as if packets were dropped. */
  | { kind: 'freeze' }
  /** The server performs it. The response is lost, and the connection is reset or gets `instead`. */
  | { kind: 'lose-answer'; instead?: Answer }
  /** The headers of the response pass, and its body waits for the promise. */
  | { kind: 'hold'; until: Promise<unknown> }
  /** The response is cut off after so many bytes of its body. */
  | { kind: 'truncate'; afterBytes: number }
  /** Does not reach the server: the proxy responds. */
  | ({ kind: 'answer' } & Answer);

export interface Answer {
  status: number;
  body: string;
  headers?: Readonly<Record<string, string>>;
}

/** Chooses the fault of a request; undefined lets it pass. Must depend only on its argument, or on what a test injects. */
export type Rules = (request: SeenRequest) => Fault | undefined;

/** Fault of a new connection before its first byte: it is closed, or gets bytes of no protocol. */
export type ConnectionFault = 'close' | 'garbage';

/** Returns a metav1.Status of failure, like that of an API server. */
export function refusal(
  status: 409 | 410 | 429 | 500 | 503 | 504,
  { retryAfterSeconds, message = 'made up by the fault proxy' }: Partial<Refusal> = {},
): { kind: 'answer' } & Answer {
  return {
    kind: 'answer',
    status,
    body: JSON.stringify(statusOf(status, message)),
    headers: {
      'content-type': 'application/json',
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
  };
}

interface Refusal {
  retryAfterSeconds: number;
  message: string;
}

/** Returns a watch whose first event says that its version has expired. */
export function expiredWatch(): { kind: 'answer' } & Answer {
  const event = { type: 'ERROR', object: statusOf(410, 'too old resource version: 1 (2)') };
  return json(`${JSON.stringify(event)}\n`);
}

/** Returns any text as a response with status 200. */
export function json(body: string): { kind: 'answer' } & Answer {
  return { kind: 'answer', status: 200, body, headers: { 'content-type': 'application/json' } };
}

/** Returns the page of a load balancer without servers, or of a portal that requires a password. */
export function html(status = 200): { kind: 'answer' } & Answer {
  const body = '<!doctype html><html><body><h1>Welcome</h1></body></html>';
  return { kind: 'answer', status, body, headers: { 'content-type': 'text/html' } };
}

function statusOf(code: number, message: string): unknown {
  const reasons: Readonly<Record<number, string>> = {
    409: 'Conflict',
    410: 'Expired',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
    504: 'Timeout',
  };
  const reason = reasons[code] ?? '';
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
}
