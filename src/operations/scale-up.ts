import { stateOf } from '#api/host-record.ts';
import { isMaster } from '#api/member.ts';
import type { PlannedHost } from '#protocol/order.ts';
import { onlyChanges } from './changes.ts';
import { laidOver } from './merge-host-lists.ts';
import { named, type Operation } from './operation.ts';
import { editRequest, hostList, required, retryField } from './request.ts';

const joins = ({ action }: PlannedHost): boolean => action === 'join';
const leaves = ({ action }: PlannedHost): boolean => action === 'leave';
const masterStays = ({ action, member }: PlannedHost): boolean => action === 'stay' && isMaster(member);

/** Adds every host of `spec` that is not yet part of the cluster, so that a second try takes what the first left. */
export const scaleUp = {
  ...named('scale-up'),
  summary: 'Add workers',
  phase: 'Scaling',
  ends: 'Running',
  request: editRequest({
    route: 'scaleup',
    description: 'Takes the whole new list, with every present worker.',
    fields: {
      nodeList: hostList('The whole new list of workers; required without retry.'),
      retry: retryField,
    },
    example: { nodeList: [{ ip: '192.0.2.12' }, { ip: '192.0.2.13' }] },
    edit({ spec, applied }, { nodeList, retry }) {
      if (!nodeList) return { change: {}, problems: retry ? [] : [required('nodeList')] };
      const present = spec.cluster.nodeList ?? applied?.cluster.nodeList;
      return { change: { nodeList: laidOver(present, nodeList) }, problems: [] };
    },
  }),
  mayChange: ['workers added'],
  declared: 'starts',
  planning: {
    named: (member, record) =>
      !record || stateOf(record) !== 'Joined' ? 'join' : isMaster(member) ? 'stay' : undefined,
    // What a former try took and nobody wants any more; a host that could not be reset waits for a scale-down.
    unnamed: (record) => (stateOf(record) === 'Held' ? 'leave' : undefined),
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Reset hosts', works: leaves, pace: 'all', cut: 'never' },
      { name: 'Prepare hosts', works: joins, pace: 'all', cut: 'between' },
      { name: 'Admit workers', works: masterStays, pace: 'one', cut: 'between' },
      { name: 'Join workers', works: joins, pace: 'all', cut: 'between' },
      { name: 'Await the cluster', works: masterStays, pace: 'one', cut: 'between' },
    ],
  },
  check: (situation) =>
    onlyChanges(['workers added'], situation, {
      'workers removed': 'is not in the list; a scale-up keeps every present host',
      labels: 'has other labels or taints; ask for "relabeling" to change those',
    }),
} satisfies Operation;
