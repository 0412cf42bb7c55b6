/** A request as the rules see it. */
export interface SeenRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** How many of this method and path came before it, watches counted apart: 0 for the first. */
  readonly nth: number;
  /** Milliseconds since the proxy's start, on a monotonic clock. */
  readonly atMs: number;
  /** Whether it asks for everything there is: a list, or a watch that begins with one. */
  readonly lists: boolean;
  readonly watch: boolean;
}

/** What happens to one request. */
export type Fault =
  /** It reaches the server `ms` later. */
  | { kind: 'delay'; ms: number }
  /** It reaches the server when the promise is fulfilled. */
  | { kind: 'wait'; until: Promise<unknown> }
  /** It never reaches the server: its connection is reset. */
  | { kind: 'reset' }
  /** Its connection falls silent in both directions, without a word of closing: as if packets were dropped. */
  | { kind: 'freeze' }
  /** The server gets it and does it; the answer is thrown away and the connection reset, or answered by `instead`. */
  | { kind: 'lose-answer'; instead?: Answer }
  /** The answer's headers pass, its body waits for the promise. */
  | { kind: 'hold'; until: Promise<unknown> }
  /** The answer is cut off after so many bytes of its body. */
  | { kind: 'truncate'; afterBytes: number }
  /** It never reaches the server: we answer. */
  | ({ kind: 'answer' } & Answer);

export interface Answer {
  status: number;
  body: string;
  headers?: Readonly<Record<string, string>>;
}

/** Which fault meets a request; undefined lets it pass. Must depend on its argument alone, or on what a test injects. */
export type Rules = (request: SeenRequest) => Fault | undefined;

/** What happens to a new connection before a byte of it is read: closed, or spoken to in no protocol. */
export type ConnectionFault = 'close' | 'garbage';

/** A metav1.Status of failure, as an API server answers it. */
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

/** A watch whose first event says that its version is gone. */
export function expiredWatch(): { kind: 'answer' } & Answer {
  const event = { type: 'ERROR', object: statusOf(410, 'too old resource version: 1 (2)') };
  return json(`${JSON.stringify(event)}\n`);
}

/** Any text as an answer of 200. */
export function json(body: string): { kind: 'answer' } & Answer {
  return { kind: 'answer', status: 200, body, headers: { 'content-type': 'application/json' } };
}

/** What a load balancer says that has lost its servers, or a portal that wants a password. */
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
