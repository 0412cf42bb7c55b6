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
  /** The only user who writes result words and identity. */
  controllerUser: string;
  /** The REST server's: it asked for its callers' rights itself. */
  serverUser: string;
  /** Records of the hosts that a cluster holds. */
  hostsOf(cluster: KubernetesCluster): Promise<readonly HostRecord[]>;
  /** The limits of the site, and the clusters that they are compared with. */
  limits(): LimitsRead;
  clustersIn(namespace: string): Promise<readonly KubernetesCluster[]>;
  access: Access;
  /** Certificate and key; absent: plain HTTP, for tests. */
  tls?: SecureContextOptions | undefined;
}
