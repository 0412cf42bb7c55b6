/** Settings of the whole proxy. Durations in seconds, sizes in bytes. */
export interface ProxySettings {
  /** Address to listen at; undefined: all addresses. */
  host?: string | undefined;
  httpPort: number;
  httpsPort: number;
  threads: number;
  /** Networks (CIDR) whose X-Forwarded fields are trusted. */
  trustedProxies: readonly string[];
  /** Connections of trustedProxies begin with the PROXY protocol. */
  proxyProtocol: boolean;
  accessLog: boolean;
  /** Longest body of a request; 0: no limit. */
  maxBodyBytes: number;
  /** Longest pause in a request or answer. */
  idleSeconds: number;
  /** Longest pause in a WebSocket. */
  tunnelIdleSeconds: number;
  /** Longest pause between two requests of a connection. */
  keepAliveSeconds: number;
  /** Longest time from the first byte of a request to the end of its header. */
  headerSeconds: number;
  connectSeconds: number;
  /** Maximum number of client connections, both ports together. */
  connections: number;
}

/**
 * Maximum number of client connections for each thread. Two threads with 9,000 idle ones took 112 MiB (`make bench-addons`).
 */
export const CONNECTIONS_PER_THREAD = 5_000;

export const DEFAULT_SETTINGS = {
  trustedProxies: [],
  proxyProtocol: false,
  accessLog: false,
  maxBodyBytes: 0,
  idleSeconds: 60,
  tunnelIdleSeconds: 3_600,
  keepAliveSeconds: 60,
  headerSeconds: 15,
  connectSeconds: 3,
} as const satisfies Partial<ProxySettings>;
