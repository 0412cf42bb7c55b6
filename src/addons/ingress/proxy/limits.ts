/** What a client, or a backend, may take of the proxy. Durations in milliseconds, sizes in bytes. */
export interface Limits {
  /** Of a message's start line and header fields together. */
  headBytes: number;
  headerCount: number;
  /** Of a request's body; 0: any. */
  bodyBytes: number;
  /** From the first byte of a request to the end of its header fields. */
  headersMs: number;
  /** From the first byte of a request to the end of its body. */
  requestMs: number;
  /** Between two requests of a connection. */
  keepAliveMs: number;
  connectMs: number;
  /** Without a byte of a request or an answer that is under way, in either direction. */
  idleMs: number;
  /** Without a byte of what is no HTTP any more: WebSockets. */
  tunnelIdleMs: number;
  /** How long a connection to an endpoint is kept for another request. */
  endpointIdleMs: number;
  /** Of clients, at both doors of one process together. */
  connections: number;
  /** Streams of one HTTP/2 connection at once. */
  streams: number;
}

/**
 * What a socket takes before its other side must wait: several reads of 64 KiB, or each one would stop the reading until it
 * was written.
 */
export const SOCKET_BYTES = 262_144;

export const DEFAULT_LIMITS: Readonly<Limits> = {
  headBytes: 16_384,
  headerCount: 100,
  bodyBytes: 0,
  headersMs: 15_000,
  requestMs: 300_000,
  keepAliveMs: 60_000,
  connectMs: 3_000,
  idleMs: 60_000,
  tunnelIdleMs: 3_600_000,
  // Below what servers commonly keep them for (Node: 5 s): one that ends in our hands costs a request.
  endpointIdleMs: 4_000,
  // Of 10,000 idle ones without TLS a process took some 150 MiB (bench/addons); slow readers hold up to SOCKET_BYTES each.
  connections: 5_000,
  streams: 128,
};
