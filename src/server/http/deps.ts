import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { LimitsRead } from '#operations/limits.ts';
import type { Offer } from '#operations/resolve.ts';
import type { Client } from '#runtime/client/client.ts';

/** Dependencies of the REST API; it reads nothing from the environment. */
export interface ServerDeps {
  client: Client;
  /** For reviews of tokens, and for what Jobs send: calls of each have a limit of their own. */
  tokenClient: Client;
  jobClient: Client;
  clock: Clock;
  log: Logger;
  /** The operator's namespace: where Jobs are. */
  namespace: string;
  /** Where reports and logs are: apart from every other Secret and ConfigMap of the operator. */
  reportsNamespace: string;
  offer: Offer;
  /** The limits of the site; the webhook holds every write to them. */
  limits(): LimitsRead;
  /** Audiences of tokens of people, besides the API server's own. */
  audiences: readonly string[];
  /** Name of the Jobs' ServiceAccount, in the operator's namespace. */
  runnerServiceAccount: string;
  /** Certificate and key; absent: plain HTTP, for tests. */
  tls?: SecureContextOptions | undefined;
}
