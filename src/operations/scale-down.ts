import { z } from 'zod';
import { canonicalIp, type HostEntry, LISTS, type ListName } from '#api/host.ts';
import { stateOf } from '#api/host-record.ts';
import type { Problem } from '#base/errors.ts';
import { type ChangeKind, onlyChanges } from './changes.ts';
import { drainNodes, forgetNodes, mayMissEndpoints, ofOneThatStays, pointHosts } from './control-planes.ts';
import { drainField } from './drain.ts';
import { checkEtcd, isHalfMoved, isLeftOfMove, pointToEtcd, removeMembers } from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation } from './plan-for.ts';
import { editOfLists, editRequest, hostList, hostsIn, type Present, retryField } from './request.ts';

const KINDS: readonly ChangeKind[] = ['workers removed', 'control planes removed', 'etcd members removed'];
const addressOf = ({ ip }: HostEntry): string => canonicalIp(ip) ?? ip;

/**
 * Returns a problem if the list removes no host. A failed scale-up may have left hosts that only the object names: they
 * count.
 */
function shrinks({ spec, applied }: Present, list: ListName, wanted: readonly HostEntry[]): Problem[] {
  const kept = new Set(wanted.map(addressOf));
  const present = [...hostsIn(applied, list), ...hostsIn(spec, list)];
  return present.every((host) => kept.has(addressOf(host)))
    ? [{ field: `spec.cluster.${list}`, reason: 'names every present host; leave out the hosts to remove' }]
    : [];
}

/** Refuses a half-moved etcd: a member could be removed that API servers already use. */
function halfMoved(situation: Situation): Problem[] {
  if (!isHalfMoved(situation)) return [];
  const reason =
    'etcd is on its way: a move of it, or a removal of its hosts, was given up halfway; ask for "moving-etcd" first, with etcd where it is to be';
  return [{ field: 'spec.cluster.etcdList', reason }];
}

/** Removes every host that the cluster holds and `spec` no longer names; retries hosts that could not be reset. */
export const scaleDown = {
  ...named('scale-down'),
  summary: 'Remove workers, control planes and members of etcd',
  phase: 'Scaling',
  ends: 'Running',
  request: editRequest({
    route: 'scaledown',
    description: 'Takes the whole new list of a kind of host, a part of the present one.',
    fields: {
      nodeList: hostList(
        'The whole new list of workers; left out: unchanged. One list is required without retry.',
      ),
      masterList: hostList(
        'The whole new list of control planes, 1 or 3 hosts, or up to 8 where etcd has its own; left out: unchanged.',
      ),
      etcdList: hostList(
        'The whole new list of hosts of etcd, where it has its own, 1 or 3; left out: unchanged.',
      ),
      allowEmpty: z.boolean().optional().meta({ description: 'Lets nodeList be empty: every worker goes.' }),
      drain: drainField,
      retry: retryField,
    },
    example: { nodeList: [{ ip: '192.0.2.12' }] },
    edit(present, { allowEmpty, drain, retry, ...lists }) {
      if (lists.nodeList?.length === 0 && !allowEmpty) {
        const reason = 'is empty; "allowEmpty": true removes every worker';
        return { change: {}, problems: [{ field: 'spec.cluster.nodeList', reason }] };
      }
      const edit = editOfLists(present, lists, retry);
      const { problems } = edit;
      const change = { ...edit.change, ...(drain ? { drain } : {}) };
      // A given list that keeps all hosts is a mistake, unless another list shrinks.
      const kept = LISTS.map((list) => (change[list] ? shrinks(present, list, change[list]) : undefined));
      const said = kept.filter((one) => one !== undefined);
      const none = present.applied && said.length > 0 && said.every((one) => one.length > 0);
      return { change, problems: none ? said.flat() : problems };
    },
  }),
  mayChange: KINDS,
  planning: {
    named: (host, record, situation) =>
      record && stateOf(record) === 'Joined' ? ofOneThatStays(host, record, situation) : undefined,
    unnamed: (record, situation) => (isLeftOfMove(record, situation) ? undefined : 'leave'),
    mayBeAway: mayMissEndpoints,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      checkEtcd,
      pointToEtcd,
      pointHosts,
      drainNodes,
      removeMembers,
      resetHosts,
      forgetNodes,
    ],
  },
  check: (situation) => [
    ...halfMoved(situation),
    ...onlyChanges(KINDS, situation, {
      'workers added': 'is not a host of the cluster; a scale-down only removes hosts',
      'control planes added': 'is not a host of the cluster; a scale-down only removes hosts',
      'etcd members added': 'is not a host of the cluster; a scale-down only removes hosts',
    }),
  ],
} satisfies Operation;
