import { stateOf } from '#api/host-record.ts';
import { hasEtcd, isMaster, membersOf } from '#api/member.ts';
import type { Problem } from '#base/errors.ts';
import { joins, type PlannedHost } from '#protocol/run-spec.ts';
import { isApart, issueCertificates } from './etcd.ts';
import { APPLY_MANIFESTS, manifestsOf } from './manifests.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan-for.ts';

const masterJoins = (host: PlannedHost): boolean => joins(host) && isMaster(host.member);
/** A member of etcd that the first control plane waits for, on another host. */
const startsApart = (host: PlannedHost): boolean => joins(host) && isApart(host);

/**
 * Members of an etcd that a former try made are reset together, and with every API server that asks them, or not at all:
 * some alone would take its quorum.
 */
function leavesEtcd({ spec, hosts }: Situation): Problem[] {
  const wanted = membersOf(spec.cluster);
  const members = hosts.filter((record) => stateOf(record) === 'Joined' && hasEtcd(record.spec));
  const gone = members.filter((record) => !wanted.has(record.spec.ip));
  const keeps = hosts.some(
    (record) => stateOf(record) === 'Joined' && isMaster(record.spec) && wanted.has(record.spec.ip),
  );
  if (gone.length === members.length && !keeps) return [];
  return gone.map((record): Problem => {
    const list = isMaster(record.spec) ? 'masterList' : 'etcdList';
    const reason = `leaves out ${record.spec.ip}, which the try before made a member of etcd; name it again, and take it out by "scaling-down" once the cluster is created`;
    return { field: `spec.cluster.${list}`, value: record.spec.ip, reason };
  });
}

/** Makes the cluster of `spec` out of hosts; hosts that a former, failed try took and the spec dropped are reset. */
export const create: Operation = {
  ...named('create'),
  summary: 'Make a cluster',
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
      { ...issueCertificates, works: (host, all) => masterJoins(host) && all.some(startsApart) },
      { name: 'Start etcd', works: startsApart, pace: 'all', cut: 'between' },
      {
        name: 'Start the control plane',
        works: (host, all) => masterJoins(host) && all.some(startsApart),
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
