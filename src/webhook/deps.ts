import type { SecureContextOptions } from 'node:tls';
import type { Logger } from '#base/log.ts';
import type { Offer } from '#operations/resolve.ts';

/** Who asks, as AdmissionReview says it. */
export interface Requester {
  username: string;
  uid?: string | undefined;
  groups: string[];
  extra: Record<string, string[]>;
}

export interface WebhookDeps {
  log: Logger;
  offer: Offer;
  /** The only user who writes result words and identity. */
  controllerUser: string;
  /** The REST server's: it asked for its callers' rights itself. */
  serverUser: string;
  /** Whether somebody may read a Secret, as the API server says. */
  mayGetSecret(user: Requester, namespace: string, name: string): Promise<boolean>;
  /** Whether somebody may delete a cluster, which is what the word `terminating` does. */
  mayDeleteCluster(user: Requester, namespace: string, name: string): Promise<boolean>;
  /** Certificate and key; absent: plain HTTP, for tests. */
  tls?: SecureContextOptions | undefined;
}
