import { stateOf } from '#api/host-record.ts';
import { isEtcdOnly, isMaster } from '#api/member.ts';
import type { PlannedHost } from '#protocol/order.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import type { StepPlan } from './plan.ts';
import { editRequest, retryField } from './request.ts';

const isPutBack = ({ action }: PlannedHost): boolean => action === 'change';
const isWorker = (host: PlannedHost): boolean => isPutBack(host) && !isMaster(host.member);
/** An API server or a member of etcd that is away for a moment needs the others: never two at once, never left halfway. */
const CONTROL_PLANES = {
  works: ({ member }) => isMaster(member),
  pace: 'one',
  cut: 'never',
} satisfies Omit<StepPlan, 'name'>;

/**
 * Puts back what somebody has changed on hosts: what differs from the seal (ansible/README.md). On all hosts that have
 * one, since a host that is as it was made answers so at once; those of etcd alone have none.
 */
export const repair = {
  ...named('repair'),
  summary: 'Put back what was changed on hosts by hand',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'repair',
    description: 'Puts every host back as it was made, where condition HostsAsMade says that it differs.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  planning: {
    // Nothing is put back on hosts of etcd alone; API servers are compared with where it is.
    named: (member, record) =>
      record && stateOf(record) === 'Joined' ? (isEtcdOnly(member) ? 'stay' : 'change') : undefined,
    unnamed: () => undefined,
    mayBeAway: true,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { ...CONTROL_PLANES, name: 'Put back control planes that do not answer' },
      { ...CONTROL_PLANES, name: 'Put back control planes' },
      { name: 'Put back workers', works: isWorker, pace: { atMost: 10 }, cut: 'between' },
      { name: 'Compare hosts', works: isPutBack, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => onlyChanges([], situation),
} satisfies Operation;
