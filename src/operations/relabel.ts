import { type HostRecord, stateOf } from '#api/host-record.ts';
import { isMaster, type Member } from '#api/member.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { PlannedHost } from '#protocol/order.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';

const marksOf = ({ labels = {}, taints = [] }: Pick<Member, 'labels' | 'taints'>): string =>
  canonicalJson([labels, taints]);
const isMarkedOtherwise = (member: Member, { spec }: HostRecord): boolean =>
  marksOf(member) !== marksOf(spec);
const worksThrough = ({ member, action }: PlannedHost): boolean => isMaster(member) && action !== 'leave';

/** Sets the labels and taints of nodes to what `spec` says; what it no longer says is taken away. */
export const relabel: Operation = {
  ...named('relabel'),
  summary: 'Change labels and taints of nodes',
  phase: 'Maintaining',
  ends: 'Running',
  route: 'relabel',
  mayChange: ['labels'],
  declared: 'starts',
  planning: {
    named(member, record) {
      if (!record || stateOf(record) !== 'Joined') return undefined;
      if (isMarkedOtherwise(member, record)) return 'change';
      return isMaster(member) ? 'stay' : undefined;
    },
    unnamed: () => undefined,
    steps: [
      { name: 'Take the control plane', works: worksThrough, pace: 'all', cut: 'between' },
      { name: 'Mark nodes', works: worksThrough, pace: 'one', cut: 'between' },
    ],
  },
  check: (situation) => onlyChanges(['labels'], situation),
};
