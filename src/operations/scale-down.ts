import { z } from 'zod';
import { canonicalIp, type HostEntry } from '#api/host.ts';
import { stateOf } from '#api/host-record.ts';
import { isMaster } from '#api/member.ts';
import type { Problem } from '#base/errors.ts';
import { onlyChanges } from './changes.ts';
import { laidOver } from './merge-host-lists.ts';
import { named, type Operation } from './operation.ts';
import { editRequest, hostList, hostsIn, type Present, required, retryField } from './request.ts';

const addressOf = ({ ip }: HostEntry): string => canonicalIp(ip) ?? ip;

/** A scale-up that failed may have taken hosts that only the object names: those can go as well. */
function shrinks({ spec, applied }: Present, list: readonly HostEntry[], allowEmpty = false): Problem[] {
  const field = 'spec.cluster.nodeList';
  if (list.length === 0 && !allowEmpty)
    return [{ field, reason: 'is empty; "allowEmpty": true removes every worker' }];
  const kept = new Set(list.map(addressOf));
  const present = [...hostsIn(applied, 'nodeList'), ...hostsIn(spec, 'nodeList')];
  return present.every((host) => kept.has(addressOf(host)))
    ? [{ field, reason: 'names every present worker; leave out the hosts to remove' }]
    : [];
}

/** Removes every worker that the cluster holds and `spec` no longer names; what could not be reset is tried again. */
export const scaleDown = {
  ...named('scale-down'),
  summary: 'Remove workers',
  phase: 'Scaling',
  ends: 'Running',
  request: editRequest({
    route: 'scaledown',
    description: 'Takes the whole new list, a part of the present one.',
    fields: {
      nodeList: hostList('The whole new list of workers; required without retry.'),
      allowEmpty: z.boolean().optional().meta({ description: 'Lets the list be empty: every worker goes.' }),
      retry: retryField,
    },
    example: { nodeList: [{ ip: '192.0.2.12' }] },
    edit(present, { nodeList, allowEmpty, retry }) {
      if (!nodeList) return { change: {}, problems: retry ? [] : [required('nodeList')] };
      const { spec, applied } = present;
      const list = laidOver(spec.cluster.nodeList ?? applied?.cluster.nodeList, nodeList);
      return { change: { nodeList: list }, problems: applied ? shrinks(present, list, allowEmpty) : [] };
    },
  }),
  mayChange: ['workers removed'],
  planning: {
    named: (member, record) =>
      record && isMaster(member) && stateOf(record) === 'Joined' ? 'stay' : undefined,
    unnamed: ({ spec }) => (isMaster(spec) ? undefined : 'leave'),
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      {
        name: 'Drain and remove nodes',
        works: ({ member }) => isMaster(member),
        pace: 'one',
        cut: 'between',
      },
      { name: 'Reset hosts', works: ({ action }) => action === 'leave', pace: 'all', cut: 'never' },
    ],
  },
  check: (situation) =>
    onlyChanges(['workers removed'], situation, {
      'workers added': 'is not a host of the cluster; a scale-down only removes hosts',
      labels: 'has other labels or taints; ask for "relabeling" to change those',
    }),
} satisfies Operation;
