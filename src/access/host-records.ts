import { keyOf, textOf } from '#api/cluster-facts.ts';
import { clusterHostsOf } from '#api/cluster-host.ts';
import { DNS_LABEL } from '#api/host.ts';
import { HOSTS, type HostRecord, hostRecordName, isOf, remainsAt } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';

/** Returns the records of the hosts that a cluster holds; empty if it has no id yet. */
export async function hostRecordsOf(
  client: Client,
  namespace: string,
  cluster: KubernetesCluster,
): Promise<HostRecord[]> {
  const id = cluster.metadata.annotations?.[annotations.clusterId];
  // The operator writes no id that is not a label value.
  if (id === undefined || !DNS_LABEL.test(id)) return [];
  const labelSelector = `${labels.clusterId}=${id}`;
  const { items } = await client.list<HostRecord>(HOSTS, { namespace, labelSelector });
  return items.filter((record) => isOf(record, textOf(keyOf(cluster))));
}

/** With more addresses, one list of all records costs less than a request for each. */
const FEW = 10;
const PAGE = 500;

/** Returns the former clusters of hosts that the spec names and that are not on record as its own, for a plan. */
export async function remainsFor(
  client: Client,
  namespace: string,
  { spec, hosts, clusterId }: { spec: Spec; hosts: readonly HostRecord[]; clusterId: string | undefined },
): Promise<Map<string, string>> {
  const own = new Set(hosts.map((record) => record.spec.ip));
  const others = new Set([...clusterHostsOf(spec.cluster).keys()].filter((ip) => !own.has(ip)));
  return remainsAt(await recordsAt(client, namespace, others), clusterId);
}

/** Returns the records at canonical addresses, of any cluster. */
export async function recordsAt(
  client: Client,
  namespace: string,
  ips: ReadonlySet<string>,
): Promise<HostRecord[]> {
  if (ips.size > FEW) {
    // In pages: an installation may have many more hosts than were requested.
    const found: HostRecord[] = [];
    let from: string | undefined;
    do {
      const page = await client.list<HostRecord>(HOSTS, { namespace, limit: PAGE, continue: from });
      found.push(...page.items.filter(({ spec }) => ips.has(spec.ip)));
      from = page.metadata.continue || undefined;
    } while (from !== undefined);
    return found;
  }
  const keys = [...ips].map((ip) => ({ namespace, name: hostRecordName(ip) }));
  const found = await Promise.all(keys.map((key) => client.find<HostRecord>(HOSTS, key)));
  return found.filter((record) => record !== undefined);
}
