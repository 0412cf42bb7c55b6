import { stateOf } from '#api/host-record.ts';
import { isMaster } from '#api/member.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';

/** Removes every worker that the cluster holds and `spec` no longer names; what could not be reset is tried again. */
export const scaleDown: Operation = {
  ...named('scale-down'),
  summary: 'Remove workers',
  phase: 'Scaling',
  ends: 'Running',
  route: 'scaledown',
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
};
