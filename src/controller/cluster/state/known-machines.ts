import { type HostRecord, isFree } from '#api/host-record.ts';
import type { ObjectKey } from '#api/meta.ts';
import { joins, machineSeen, type RunSpec } from '#protocol/run-spec.ts';

/**
 * Returns the machines that the run must not take in under another address (`knownMachines` of a run spec): those of the
 * Host records of all clusters, but for records at addresses that join, and for hosts that their cluster gave up.
 */
export function knownMachines(
  { hosts, cluster }: Pick<RunSpec, 'hosts'> & { cluster: ObjectKey & { id: string } },
  records: readonly HostRecord[],
): Readonly<Record<string, string>> {
  const joining = new Set(hosts.filter(joins).map(({ member }) => member.ip));
  if (joining.size === 0) return {};
  return Object.fromEntries(
    records.flatMap((record): [string, string][] => {
      const { spec, status } = record;
      if (status?.machineId === undefined || joining.has(spec.ip) || isFree(record)) return [];
      return [[machineSeen(status.machineId), ownerFor(cluster, spec)]];
    }),
  );
}

/** Tells nobody of a cluster in a namespace that may not be his. */
const ownerFor = (
  { id, namespace }: ObjectKey & { id: string },
  { clusterId, cluster, ip }: HostRecord['spec'],
): string => {
  if (clusterId === id) return ip;
  return cluster.startsWith(`${namespace}/`) ? cluster : '';
};

/** Returns the ids of the clusters of this one's namespace that have Host records: their users may know them. */
export const ownClusters = (
  { cluster }: { cluster: ObjectKey },
  records: readonly HostRecord[],
): string[] => [
  ...new Set(
    records.flatMap(({ spec }) => (spec.cluster.startsWith(`${cluster.namespace}/`) ? [spec.clusterId] : [])),
  ),
];
