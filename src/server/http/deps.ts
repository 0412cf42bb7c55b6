import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { LimitsRead } from '#operations/limits.ts';
import type { Offer } from '#operations/resolve.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Span } from '#tracing/span.ts';
import type { LoginProvider } from '../login/oidc.ts';
import type { ObserveRequest } from './request-metrics.ts';

/** Dependencies of the REST API; it reads nothing from the environment. */
export interface ServerDeps {
  client: Client;
  /** Separate clients for token reviews and for requests of Jobs, so that each has its own limit of calls. */
  tokenClient: Client;
  jobClient: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace, which contains the Jobs. */
  namespace: string;
  /** The namespace of reports and logs, which contains no other Secret or ConfigMap of the operator. */
  reportsNamespace: string;
  offer: Offer;
  /** Returns the limits of the site; the webhook enforces them on every write. */
  limits(): LimitsRead;
  /** Audiences of users' tokens, besides the API server's own. */
  audiences: readonly string[];
  /** Name of the Jobs' ServiceAccount, in the operator's namespace. */
  runnerServiceAccount: string;
  /** Port of the API servers of clusters; default 6443. */
  clusterPort?: number | undefined;
  /** Observes each request; if absent, requests are not observed. */
  observeRequest?: ObserveRequest | undefined;
  /** Directory of the web page; if absent, there is none. */
  pageDir?: string | undefined;
  /** Takes a span of each request for an operation; if absent, there are no traces. */
  addSpan?: ((span: Span) => void) | undefined;
  /** Logs users of the page in; if absent, they need a token. */
  login?: LoginProvider | undefined;
  /** Certificate and key; if absent, the server uses plain HTTP, for tests. */
  tls?: SecureContextOptions | undefined;
}
