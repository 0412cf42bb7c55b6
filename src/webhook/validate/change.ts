import type { HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Offer } from '#operations/resolve.ts';

/** The facts of one admission of a KubernetesCluster that rules use. */
export interface Change {
  /** Undefined if the object is being created. */
  old: KubernetesCluster | undefined;
  next: KubernetesCluster;
  user: string;
  controllerUser: string;
  offer: Offer;
  /** Records of the hosts that the cluster holds. */
  hosts: readonly HostRecord[];
}
