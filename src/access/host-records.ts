import { HOSTS, type HostRecord } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';

/** Records of the hosts that a cluster holds; none before it has an id. */
export async function hostRecordsOf(
  client: Client,
  namespace: string,
  { metadata }: KubernetesCluster,
): Promise<HostRecord[]> {
  const id = metadata.annotations?.[annotations.clusterId];
  if (id === undefined) return [];
  const labelSelector = `${labels.clusterId}=${id}`;
  return (await client.list<HostRecord>(HOSTS, { namespace, labelSelector })).items;
}
