import { clusterHostsOf, hasEtcd, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import { joins, type PlannedHost } from '#protocol/run-spec.ts';
import { isExternalEtcd, issueCertificates } from './etcd.ts';
import { APPLY_MANIFESTS, manifestsOf } from './manifests.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan-for.ts';

const masterJoins = (host: PlannedHost): boolean => joins(host) && isMaster(host.member);
/** Whether the host is a joining external etcd member, which the first control plane waits for. */
const startsExternalEtcd = (host: PlannedHost): boolean => joins(host) && isExternalEtcd(host);

/**
 * Refuses to reset only some members of an earlier try's etcd. They are reset all together, with every API server that uses
 * them, or not at all: resetting some would cost etcd its quorum.
 */
function leavesEtcd({ spec, hosts }: Situation): Problem[] {
  const wanted = clusterHostsOf(spec.cluster);
  const clusterHosts = hosts.filter((record) => stateOf(record) === 'Joined' && hasEtcd(record.spec));
  const gone = clusterHosts.filter((record) => !wanted.has(record.spec.ip));
  const keeps = hosts.some(
    (record) => stateOf(record) === 'Joined' && isMaster(record.spec) && wanted.has(record.spec.ip),
  );
  if (gone.length === clusterHosts.length && !keeps) return [];
  return gone.map((record): Problem => {
    const list = isMaster(record.spec) ? 'masterList' : 'etcdList';
    const reason = `leaves out ${record.spec.ip}, which the try before made a member of etcd; name it again, and take it out by "scaling-down" once the cluster is created`;
    return { field: `spec.cluster.${list}`, value: record.spec.ip, reason };
  });
}

/** Creates the cluster of `spec`. Resets hosts that an earlier, failed try took and that the spec no longer names. */
export const create: Operation = {
  ...named('create'),
  summary: 'Create a cluster',
  phase: 'Creating',
  ends: 'Running',
  mayChange: [],
  planning: {
    named: () => 'join',
    unnamed: () => 'leave',
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      resetHosts,
      { name: 'Prepare hosts, start the control plane', works: joins, pace: 'all', cut: 'between' },
      { ...issueCertificates, works: (host, all) => masterJoins(host) && all.some(startsExternalEtcd) },
      { name: 'Start etcd', works: startsExternalEtcd, pace: 'all', cut: 'between' },
      {
        name: 'Start the control plane',
        works: (host, all) => masterJoins(host) && all.some(startsExternalEtcd),
        pace: 'one',
        cut: 'between',
      },
      { name: 'Admit hosts', works: masterJoins, pace: 'one', cut: 'between' },
      { name: 'Join hosts, start the pod network', works: joins, pace: 'all', cut: 'between' },
      { name: 'Wait for the cluster', works: masterJoins, pace: 'one', cut: 'between' },
      {
        name: APPLY_MANIFESTS,
        works: (host, _all, spec) => masterJoins(host) && manifestsOf(spec).length > 0,
        pace: 'one',
        cut: 'between',
      },
      { name: 'Fetch the kubeconfig', works: masterJoins, pace: 'one', cut: 'between' },
    ],
  },
  check: leavesEtcd,
};
