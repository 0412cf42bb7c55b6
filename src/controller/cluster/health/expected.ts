import { keyOf, textOf } from '#api/cluster-facts.ts';
import { type HostRecord, isFree, isOf, stateOf } from '#api/host-record.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Expected } from './judge/seen.ts';

/** Returns the hosts that a cluster should have; a host that has left (`Unclean` or `Lost`) is not missed. */
export function expectedOf(cluster: KubernetesCluster, records: readonly HostRecord[]): Expected[] {
  const annotation = textOf(keyOf(cluster));
  return records
    .filter((record) => isOf(record, annotation) && !isFree(record))
    .map((record) => {
      const { ip, name, duties } = record.spec;
      const state = stateOf(record);
      return {
        ip,
        name,
        controlPlane: duties.includes('control-plane'),
        etcd: duties.includes('etcd'),
        hasNode: duties.some((duty) => duty !== 'etcd'),
        joined: state === 'Joined',
        leaving: state === 'Leaving',
      };
    });
}
