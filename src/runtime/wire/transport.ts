import type { Readable } from 'node:stream';
import { buildConnector, Pool } from 'undici';
import { ApiError, isApiError } from './api-error.ts';
import { type Endpoint, isPromise, type TlsMaterial } from './endpoint.ts';
import { explainError } from './explain-error.ts';
import { gather } from './gather.ts';
import { hearStreams } from './heard-streams.ts';
import { watchForSilence } from './silence.ts';
import { errorFromAnswer } from './status-error.ts';

export interface WireRequest {
  method: string;
  /** Path and query, from the server's root. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Signal whose reason is either a timeout (ApiError Timeout) or the caller's. */
  signal: AbortSignal;
  /** Reads the body of a success to its end, or throws; the answer then has no `text`. */
  read?: ((body: AsyncIterable<Buffer>, status: number) => Promise<unknown>) | undefined;
}

export interface WireAnswer {
  status: number;
  retryAfter: string | undefined;
  text: string;
  /** Result of the request's `read`. */
  value?: unknown;
}

/** Transfers bytes: it knows HTTP and TLS, but no objects. Rejects with ApiError Connection, or the signal's reason. */
export interface Transport {
  send(request: WireRequest): Promise<WireAnswer>;
  /** Returns the body as a stream, for watches and logs; an answer other than 2xx rejects with its ApiError. */
  open(request: WireRequest): Promise<Readable>;
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Whether watches may use HTTP/2 if the server offers it. Default true. */
  http2?: boolean | undefined;
  /** Kept-alive connections for calls. Watches have separate ones. Default 64. */
  connections?: number | undefined;
  /** Interval between PINGs of an HTTP/2 watch connection. Default 15,000. */
  pingIntervalMs?: number | undefined;
  /** Time without any bytes, including answers to PINGs, after which a watch connection is cut. Default 36,000. */
  silenceMs?: number | undefined;
}

/** Bytes that the server may send ahead on one watch. */
const STREAM_WINDOW = 4 * 1024 * 1024;

/**
 * Creates a transport. Calls use a pool of HTTP/1.1 connections (in Node, HTTP/2 streams cost several times as much as
 * requests on a kept-alive connection). Watches share HTTP/2 connections if the server offers it, because a PING
 * distinguishes an idle watch from a dead one. Over HTTP/1.1, TCP keep-alive must do so.
 */
export function createTransport(endpoint: Endpoint, options: TransportOptions = {}): Transport {
  const { http2 = true, connections = 64, pingIntervalMs = 15_000, silenceMs = 36_000 } = options;
  if (http2) hearStreams();
  const url = new URL(endpoint.url);
  const base = url.pathname.replace(/\/$/, '');
  const makeCalls = () =>
    new Pool(url.origin, {
      connections,
      allowH2: false,
      keepAliveTimeout: 60_000,
      connect: connector(endpoint, false, silenceMs),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  let calls = makeCalls();
  const retired = new Set<Pool>();
  const streams = new Pool(url.origin, {
    allowH2: http2,
    keepAliveTimeout: 10_000,
    // A list that arrives as a watch (WatchList) is megabytes at once, and should not wait for each of our acknowledgements.
    // undici reads the stream's window only from this older name, despite its types.
    initialWindowSize: STREAM_WINDOW,
    h2Options: { pingInterval: pingIntervalMs, connectionWindowSize: 2 * STREAM_WINDOW },
    connect: connector(endpoint, http2, silenceMs),
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  /**
   * Replaces the pool for new calls; calls in progress keep their connections. After an unanswered call, other idle
   * connections have the same fault, and each would cost a call its timeout. After a 401, a rotated client certificate takes
   * effect at the next handshake (client-go transport/cert_rotation.go).
   */
  function retire(pool: Pool) {
    if (pool !== calls) return;
    calls = makeCalls();
    retired.add(pool);
    void pool.close().finally(() => retired.delete(pool));
  }

  // A DELETE has a body here, which HTTP leaves undefined: undici would close its connection afterwards.
  const asked = ({ method, path, headers, body }: WireRequest) =>
    ({ method, path: base + path, headers, body: body ?? null, reset: false }) as const;

  async function request(pool: Pool, wire: WireRequest) {
    try {
      return await pool.request({ ...asked(wire), signal: wire.signal });
    } catch (error) {
      throw explainError(connectionError(error, wire.signal, `${wire.method} ${wire.path}`), endpoint);
    }
  }

  /** Reads the body of a success as it arrives. */
  async function readBy(read: NonNullable<WireRequest['read']>, pool: Pool, wire: WireRequest) {
    const { statusCode: status, headers, body } = await request(pool, wire);
    const retryAfter = header(headers['retry-after']);
    return isSuccess(status)
      ? { status, retryAfter, text: '', value: await read(body, status) }
      : { status, retryAfter, text: await body.text() };
  }

  return {
    async send(wire) {
      const pool = calls;
      try {
        const answer = wire.read
          ? await readBy(wire.read, pool, wire)
          : await gather(pool, asked(wire), wire.signal);
        if (answer.status === 401) retire(pool);
        return answer;
      } catch (error) {
        if (isApiError(wire.signal.reason, 'Timeout')) retire(pool);
        throw explainError(connectionError(error, wire.signal, `${wire.method} ${wire.path}`), endpoint);
      }
    },
    async open(wire) {
      const answer = await request(streams, wire);
      if (isSuccess(answer.statusCode)) return answer.body;
      const what = `${wire.method} ${wire.path}`;
      const text = await answer.body.text().catch(() => '');
      throw errorFromAnswer(answer.statusCode, text, header(answer.headers['retry-after']), what);
    },
    async close() {
      await Promise.all([calls, streams, ...retired].map((pool) => pool.destroy()));
    },
  };
}

/** Creates a connector that reads the TLS material at each connection, so that rotated certificates take effect. */
function connector(endpoint: Endpoint, http2: boolean, silenceMs: number): buildConnector.connector {
  let last: { material: TlsMaterial; connect: buildConnector.connector } | undefined;
  const made = (material: TlsMaterial): buildConnector.connector => {
    if (last && sameMaterial(last.material, material)) return last.connect;
    const connect = buildConnector({
      allowH2: http2,
      preferH2: http2,
      timeout: 10_000,
      keepAlive: true,
      keepAliveInitialDelay: 15_000,
      ...Object.fromEntries(Object.entries(material).filter(([, value]) => value !== undefined)),
    });
    last = { material, connect };
    return connect;
  };
  return (options, callback) => {
    const proceed = (material: TlsMaterial) =>
      made(material)(options, (...result) => {
        const [error, socket] = result;
        // Our files may be outdated: the next connection reads them again.
        if (error && isAboutCertificates(error)) endpoint.refresh?.();
        if (http2 && socket && 'alpnProtocol' in socket && socket.alpnProtocol === 'h2') {
          watchForSilence(socket, silenceMs);
        }
        callback(...result);
      });
    const refuse = (error: unknown) =>
      callback(error instanceof Error ? error : new Error(String(error)), null);
    try {
      const material = endpoint.tls();
      if (isPromise(material)) material.then(proceed, refuse);
      else proceed(material);
    } catch (error) {
      refuse(error);
    }
  };
}

/** Whether the server's certificate was refused, or the server refused ours (OpenSSL's verification codes and alerts). */
function isAboutCertificates(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : '';
  return /^CERT_|_CERT(_|$)|SIGNATURE|^ERR_TLS_CERT|^ERR_SSL_.*ALERT/.test(code);
}

function sameMaterial(a: TlsMaterial, b: TlsMaterial): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.servername === b.servername &&
    a.rejectUnauthorized === b.rejectUnauthorized
  );
}

/** Returns the signal's reason if it aborted, else an ApiError that names the call and the first cause. */
export function connectionError(error: unknown, signal: AbortSignal, what: string): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof ApiError) return error;
  return new ApiError('Connection', `${what}: ${firstCause(error)}`, { status: 0, cause: error });
}

function firstCause(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(firstCause).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${firstCause(error.cause)}` : error.message;
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
