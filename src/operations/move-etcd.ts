import { stateOf } from '#api/host-record.ts';
import { hasEtcd, isMaster } from '#api/member.ts';
import type { Problem } from '#base/errors.ts';
import { joins, leaves, stays } from '#protocol/order.ts';
import { type ChangeKind, changesBetween, onlyChanges } from './changes.ts';
import { masterStays } from './control-planes.ts';
import { addMembers, checkEtcd, isApart, issueCertificates, leadToEtcd, removeMembers } from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan.ts';
import { editRequest, hostList, required, retryField } from './request.ts';

const KINDS: readonly ChangeKind[] = ['etcd moved', 'etcd members added', 'etcd members removed'];

function moves({ applied, spec }: Situation): Problem[] {
  if (!applied || changesBetween(applied, spec).some(({ kind }) => kind === 'etcd moved')) return [];
  const reason =
    'leaves etcd where it is; "scaling-up", "scaling-down" and "replacing" change its members there';
  return [{ field: 'spec.cluster.etcdList', reason }];
}

/** Moves etcd from the control planes to hosts of its own, or back: members come, API servers follow, others go. */
export const moveEtcd = {
  ...named('move-etcd'),
  summary: 'Move etcd between the control planes and hosts of its own',
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
    named(member, record) {
      if (!record || stateOf(record) !== 'Joined') return 'join';
      if (isMaster(member)) return 'change';
      return hasEtcd(member) ? 'stay' : undefined;
    },
    unnamed: () => 'leave',
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Prepare hosts', works: joins, pace: 'all', cut: 'between' },
      { ...checkEtcd, works: stays },
      issueCertificates,
      {
        ...addMembers,
        works: (host) => (joins(host) && isApart(host)) || (stays(host) && hasEtcd(host.member)),
      },
      { ...leadToEtcd, works: masterStays },
      { ...removeMembers, works: (host) => !leaves(host) },
      {
        name: 'Stop etcd on control planes',
        takesOut: true,
        works: (host) => masterStays(host) && !hasEtcd(host.member),
        pace: 'all',
        cut: 'between',
      },
      { name: 'Await the cluster', works: masterStays, pace: 'one', cut: 'between' },
      resetHosts,
    ],
  },
  check: (situation) => [...onlyChanges(KINDS, situation), ...moves(situation)],
} satisfies Operation;
