import { withoutHosts } from '#api/cluster-facts.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { HOSTS, type HostRecord, type HostState, hostRecordName } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';

/** Metadata and records that the controller writes for a created cluster: for tests of REST and webhook. */

/** Returns the annotations of a cluster that was created with this spec. */
export const creationAnnotations = (clusterId: string, spec: Spec): Record<string, string> => ({
  [annotations.operation]: 'create-finished',
  [annotations.clusterId]: clusterId,
  [annotations.applied]: JSON.stringify({ sequence: 1, spec: withoutHosts(spec) }),
  [annotations.appliedSpec]: JSON.stringify(spec),
});

/** Writes records of every host of the spec, in this state. */
export async function keepHosts(
  client: Client,
  namespace: string,
  clusterId: string,
  { metadata, spec }: KubernetesCluster,
  state: HostState = 'Joined',
): Promise<void> {
  for (const host of clusterHostsOf(spec.cluster).values()) {
    const name = hostRecordName(host.ip);
    const record: HostRecord = {
      metadata: { namespace, name, labels: { [labels.clusterId]: clusterId } },
      spec: { clusterId, cluster: `${metadata.namespace}/${metadata.name}`, ...host },
    };
    await client.delete(HOSTS, { namespace, name }).catch(() => undefined);
    await client.create(HOSTS, record);
    const status = { status: { state } };
    await client.patch(HOSTS, { namespace, name }, status, { type: 'merge', subresource: 'status' });
  }
}
