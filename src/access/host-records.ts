import { keyOf, textOf } from '#api/cluster-facts.ts';
import { DNS_LABEL } from '#api/host.ts';
import { HOSTS, type HostRecord, hostRecordName, isOf, remainsAt } from '#api/host-record.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { membersOf } from '#api/member.ts';
import { annotations, labels } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';

/** Records of the hosts that a cluster holds; none before it has an id. */
export async function hostRecordsOf(
  client: Client,
  namespace: string,
  cluster: KubernetesCluster,
): Promise<HostRecord[]> {
  const id = cluster.metadata.annotations?.[annotations.clusterId];
  // One that is no label value was written by nobody of ours.
  if (id === undefined || !DNS_LABEL.test(id)) return [];
  const labelSelector = `${labels.clusterId}=${id}`;
  const { items } = await client.list<HostRecord>(HOSTS, { namespace, labelSelector });
  return items.filter((record) => isOf(record, textOf(keyOf(cluster))));
}

/** Above as many addresses, one list of all records costs less than a request for each. */
const FEW = 10;
const PAGE = 500;

/** What stands at the addresses of a spec that are not on record as the cluster's own, for a plan. */
export async function remainsFor(
  client: Client,
  namespace: string,
  { spec, hosts, clusterId }: { spec: Spec; hosts: readonly HostRecord[]; clusterId: string | undefined },
): Promise<Map<string, string>> {
  const own = new Set(hosts.map((record) => record.spec.ip));
  const others = new Set([...membersOf(spec.cluster).keys()].filter((ip) => !own.has(ip)));
  return remainsAt(await recordsAt(client, namespace, others), clusterId);
}

/** The records at canonical addresses, of whatever cluster. */
export async function recordsAt(
  client: Client,
  namespace: string,
  ips: ReadonlySet<string>,
): Promise<HostRecord[]> {
  if (ips.size > FEW) {
    // Page by page: an installation may have many more hosts than are asked for.
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
