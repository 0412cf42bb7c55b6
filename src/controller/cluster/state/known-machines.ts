import { NODES } from '#api/core.ts';
import { type HostRecord, isFree } from '#api/host-record.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import type { Clock } from '#base/clock.ts';
import { joins, META_NODE, machineSeen, type RunSpec } from '#protocol/run-spec.ts';
import type { Client } from '#runtime/client/client.ts';

/**
 * Returns the machines that the run must not accept under another address (`knownMachines` of a run spec). They come from
 * the Host records of all clusters, except records of joining addresses and of hosts that their cluster gave up, and from the
 * nodes of the meta cluster.
 */
export function knownMachines(
  { hosts, cluster }: Pick<RunSpec, 'hosts'> & { cluster: ObjectKey & { id: string } },
  records: readonly HostRecord[],
  metaNodes: readonly MetaNode[],
): Readonly<Record<string, string>> {
  const joining = new Set(hosts.filter(joins).map(({ member: host }) => host.ip));
  if (joining.size === 0) return {};
  const hostMachines = records.flatMap((record): [string, string][] => {
    const { spec, status } = record;
    if (status?.machineId === undefined || joining.has(spec.ip) || isFree(record)) return [];
    return [[machineSeen(status.machineId), ownerFor(cluster, spec)]];
  });
  const metaMachines = metaNodes.flatMap(({ status }): [string, string][] => {
    const id = status?.nodeInfo?.machineID ?? '';
    return id === '' ? [] : [[machineSeen(id), META_NODE]];
  });
  return Object.fromEntries([...hostMachines, ...metaMachines]);
}

/** A node of the meta cluster. Its kubelet reports /etc/machine-id (Kubernetes API, NodeSystemInfo). */
export interface MetaNode extends KubeObject {
  status?: { nodeInfo?: { machineID?: string } };
}

const NODES_MS = 30_000;

/** Returns a function that lists the nodes of the meta cluster, at most twice a minute: many runs may start at once. */
export function metaNodeLister(clock: Clock): (client: Pick<Client, 'list'>) => Promise<readonly MetaNode[]> {
  let known: { nodes: readonly MetaNode[]; atMs: number } | undefined;
  return async (client) => {
    if (known && clock.monotonicMs() - known.atMs < NODES_MS) return known.nodes;
    const { items: nodes } = await client.list<MetaNode>(NODES, {});
    known = { nodes, atMs: clock.monotonicMs() };
    return nodes;
  };
}

/** Returns the cluster of a record; empty for a cluster in another namespace, which the user may not see. */
const ownerFor = (
  { id, namespace }: ObjectKey & { id: string },
  { clusterId, cluster, ip }: HostRecord['spec'],
): string => {
  if (clusterId === id) return ip;
  return cluster.startsWith(`${namespace}/`) ? cluster : '';
};

/** Returns the ids of the clusters in this one's namespace that have Host records: their users may know them. */
export const ownClusters = (
  { cluster }: { cluster: ObjectKey },
  records: readonly HostRecord[],
): string[] => [
  ...new Set(
    records.flatMap(({ spec }) => (spec.cluster.startsWith(`${cluster.namespace}/`) ? [spec.clusterId] : [])),
  ),
];
