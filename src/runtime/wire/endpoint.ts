/** Material of a TLS connection, as PEM text. */
export interface TlsMaterial {
  /** CA certificates; absent: the system's. */
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  servername?: string | undefined;
  /** False only if the kubeconfig has insecure-skip-tls-verify. */
  rejectUnauthorized?: boolean | undefined;
}

export type Headers = Readonly<Record<string, string>>;

/** Names of the parts of the configuration, for the user who must correct one. */
export interface EndpointParts {
  readonly server: string;
  readonly authority: string;
  readonly credentials: string;
}

/**
 * Address and credentials of an API server. Anything that may be rotated is read each time: `tls` for each connection,
 * `headers` for each request. Both may throw an Error of one line.
 */
export interface Endpoint {
  /** `https://host:port`, with a path if the server has a prefix. */
  readonly url: string;
  tls(): TlsMaterial | Promise<TlsMaterial>;
  headers(): Headers | Promise<Headers>;
  /** Parts for errors; absent if there is no configuration to check. */
  readonly parts?: EndpointParts | undefined;
  /** Drops cached files, so the next call reads them again; called upon a 401, and if certificates do not match. */
  refresh?(): void;
}

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
