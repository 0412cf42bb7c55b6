import type { SecureContextOptions } from 'node:tls';
import type { Access } from '#access/access.ts';
import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Logger } from '#base/log.ts';
import type { LimitsRead } from '#operations/limits.ts';
import type { Offer } from '#operations/resolve.ts';

export interface WebhookDeps {
  log: Logger;
  offer: Offer;
  /** The only user who may write result annotations and identity. */
  controllerUser: string;
  /** The user of the REST server, which has checked its callers' permissions itself. */
  serverUser: string;
  /** Returns the records of the hosts that a cluster holds. */
  hostsOf(cluster: KubernetesCluster): Promise<readonly HostRecord[]>;
  /** Returns the limits of the site, and below the clusters that are compared with them. */
  limits(): LimitsRead;
  clustersIn(namespace: string): Promise<readonly KubernetesCluster[]>;
  access: Access;
  /** Certificate and key; if absent, the webhook uses plain HTTP, for tests. */
  tls?: SecureContextOptions | undefined;
}
