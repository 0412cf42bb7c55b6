/** What holds for the whole proxy. Durations in seconds, sizes in bytes. */
export interface ProxySettings {
  /** Address to listen at; undefined: all. */
  host?: string | undefined;
  httpPort: number;
  httpsPort: number;
  threads: number;
  /** Networks (CIDR) whose X-Forwarded fields are believed. */
  trustedProxies: readonly string[];
  /** Connections of trustedProxies begin with the PROXY protocol. */
  proxyProtocol: boolean;
  accessLog: boolean;
  /** Of a request's body; 0: any. */
  maxBodyBytes: number;
  /** Without a byte of a request or answer under way. */
  idleSeconds: number;
  /** Without a byte of a WebSocket. */
  tunnelIdleSeconds: number;
  /** Between two requests of a connection. */
  keepAliveSeconds: number;
  /** From the first byte of a request to the end of its header. */
  headerSeconds: number;
  connectSeconds: number;
  /** Of clients, both ports together. */
  connections: number;
}

/** Of clients, of each thread: 10,000 idle ones took some 150 MiB (`make bench-addons`). */
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
