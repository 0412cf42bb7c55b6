/** What a TLS connection is made with. PEM text. */
export interface TlsMaterial {
  /** Absent: the system's authorities. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  servername?: string | undefined;
  /** False only where the kubeconfig says insecure-skip-tls-verify. */
  rejectUnauthorized?: boolean | undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** Which part of the configuration says it: what a person should look at when it does not fit. */
export interface EndpointParts {
  readonly server: string;
  readonly authority: string;
  readonly credentials: string;
}

/**
 * Where an API server is and how to speak to it. Everything that can be rotated is asked for anew: `tls` for
 * each connection, `headers` for each request; both may throw an Error of one line.
 */
export interface Endpoint {
  /** `https://host:port`, with a path where the server has a prefix. */
  readonly url: string;
  tls(): TlsMaterial | Promise<TlsMaterial>;
  headers(): Headers | Promise<Headers>;
  /** For errors; absent where there is no configuration to look at. */
  readonly parts?: EndpointParts | undefined;
  /** Called upon a 401, and where certificates do not fit: whatever is cached is read again. */
  refresh?(): void;
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
