import { hasEtcd } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { joins } from '#protocol/run-spec.ts';
import { type ChangeKind, onlyChanges } from './changes.ts';
import { masterStays, mayMissEndpoints, ofOneThatStays, pointHosts } from './control-planes.ts';
import { addMembers, checkEtcd, issueCertificates, pointToEtcd } from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import { editOfLists, editRequest, hostList, retryField } from './request.ts';

const KINDS: readonly ChangeKind[] = ['workers added', 'control planes added', 'etcd members added'];

/** Adds every host of `spec` that is not part of the cluster yet, so a second try completes the first. */
export const scaleUp = {
  ...named('scale-up'),
  summary: 'Add workers, control planes and members of etcd',
  phase: 'Scaling',
  ends: 'Running',
  request: editRequest({
    route: 'scaleup',
    description: 'Takes the whole new list of a kind of host, with every present one.',
    fields: {
      nodeList: hostList(
        'The whole new list of workers; left out: unchanged. One list is required without retry.',
      ),
      masterList: hostList(
        'The whole new list of control planes, 3 or 5 hosts, or up to 9 where etcd has its own; left out: unchanged.',
      ),
      etcdList: hostList(
        'The whole new list of hosts of etcd, where it has its own, 3 or 5; left out: unchanged.',
      ),
      retry: retryField,
    },
    example: { nodeList: [{ ip: '192.0.2.12' }, { ip: '192.0.2.13' }] },
    edit: (present, { retry, ...lists }) => editOfLists(present, lists, retry),
  }),
  mayChange: KINDS,
  declared: 'starts',
  planning: {
    named: (host, record, situation) =>
      !record || stateOf(record) !== 'Joined' ? 'join' : ofOneThatStays(host, record, situation),
    // Hosts that an earlier try took and the spec no longer names leave; a host that could not be reset waits for a
    // scale-down. So does a possible etcd member: a reset before it leaves etcd would cost the quorum.
    unnamed: (record) =>
      stateOf(record) === 'Held' && !(hasEtcd(record.spec) && record.status?.touched) ? 'leave' : undefined,
    mayBeAway: mayMissEndpoints,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      resetHosts,
      { name: 'Prepare hosts', works: joins, pace: 'all', cut: 'between' },
      checkEtcd,
      issueCertificates,
      addMembers,
      pointToEtcd,
      pointHosts,
      { name: 'Admit hosts', works: masterStays, pace: 'one', cut: 'between' },
      { name: 'Join hosts', works: joins, pace: 'all', cut: 'between' },
      { name: 'Wait for the cluster', works: masterStays, pace: 'one', cut: 'between' },
    ],
  },
  check: (situation) =>
    onlyChanges(KINDS, situation, {
      'workers removed': 'is not in the list; a scale-up keeps every present host',
      'control planes removed': 'is not in the list; a scale-up keeps every present host',
      'etcd members removed': 'is not in the list; a scale-up keeps every present host',
    }),
} satisfies Operation;
