import { clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import { joins, leaves, stays } from '#protocol/run-spec.ts';
import { type ChangeKind, changesBetween, onlyChanges } from './changes.ts';
import { masterStays } from './control-planes.ts';
import {
  addMembers,
  checkEtcd,
  isExternalEtcd,
  isHalfMoved,
  issueCertificates,
  pointToEtcd,
  removeMembers,
} from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan-for.ts';
import { editRequest, hostList, required, retryField } from './request.ts';

const KINDS: readonly ChangeKind[] = ['etcd moved', 'etcd members added', 'etcd members removed'];

function moves(situation: Situation): Problem[] {
  const { applied, spec } = situation;
  if (!applied || isHalfMoved(situation)) return [];
  if (changesBetween(applied, spec).some(({ kind }) => kind === 'etcd moved')) return [];
  const reason =
    'leaves etcd where it is; "scaling-up", "scaling-down" and "replacing" change its members there';
  return [{ field: 'spec.cluster.etcdList', reason }];
}

/** Refuses hosts with a node that are not part of the cluster yet: this operation joins external etcd hosts only. */
function notYetThere({ applied, spec, hosts }: Situation): Problem[] {
  if (!applied) return [];
  const states = new Map(hosts.map((record) => [record.spec.ip, stateOf(record)]));
  return [...clusterHostsOf(spec.cluster).values()].flatMap((host): Problem[] => {
    const state = states.get(host.ip);
    if (isEtcdOnly(host) || state === 'Joined') return [];
    const field = `spec.cluster.${isMaster(host) ? 'masterList' : 'nodeList'}`;
    const reason = `names ${host.ip}, which is ${state ? `in state ${state}` : 'not known'}, not part of the cluster; finish what adds or removes it first, by "scaling-up" or "scaling-down"`;
    return [{ field, value: host.ip, reason }];
  });
}

/** Moves etcd from the control planes to external hosts, or back: members join, API servers follow, old members leave. */
export const moveEtcd = {
  ...named('move-etcd'),
  summary: 'Move etcd between the control planes and other hosts',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'etcd/move',
    description:
      'Takes the hosts that etcd is to run on; an empty list moves it back beside the control planes.',
    fields: {
      etcdList: hostList(
        'New hosts, 1, 3 or 5 of them; or an empty list: the control planes. Required without retry.',
      ),
      retry: retryField,
    },
    example: { etcdList: [{ ip: '192.0.2.21' }, { ip: '192.0.2.22' }, { ip: '192.0.2.23' }] },
    edit(_present, { etcdList, retry }) {
      if (!etcdList) return { change: {}, problems: retry ? [] : [required('etcdList')] };
      return { change: { etcdList }, problems: [] };
    },
  }),
  mayChange: KINDS,
  planning: {
    named(host, record) {
      if (!record || stateOf(record) !== 'Joined') return 'join';
      if (isMaster(host)) return 'change';
      return hasEtcd(host) ? 'stay' : undefined;
    },
    unnamed: () => 'leave',
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Prepare hosts', works: joins, pace: 'all', cut: 'between' },
      { ...checkEtcd, works: stays },
      issueCertificates,
      {
        ...addMembers,
        // When etcd moves back, the control planes get members here that only the leaving members know.
        takesOut: 'begun',
        works: (host) => (joins(host) && isExternalEtcd(host)) || (stays(host) && hasEtcd(host.member)),
      },
      { ...pointToEtcd, works: masterStays },
      { ...removeMembers, works: (host) => !leaves(host) },
      {
        name: 'Stop etcd on control planes',
        takesOut: 'begun',
        works: (host) => masterStays(host) && !hasEtcd(host.member),
        pace: 'all',
        cut: 'between',
      },
      { name: 'Wait for the cluster', works: masterStays, pace: 'one', cut: 'between' },
      resetHosts,
    ],
  },
  check: (situation) => [...onlyChanges(KINDS, situation), ...moves(situation), ...notYetThere(situation)],
} satisfies Operation;
