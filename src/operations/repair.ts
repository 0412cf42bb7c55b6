import { stateOf } from '#api/host-record.ts';
import { isEtcdOnly, isMaster } from '#api/member.ts';
import type { PlannedHost } from '#protocol/order.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import { editRequest, retryField } from './request.ts';

const isRepaired = ({ action }: PlannedHost): boolean => action === 'change';

/** Puts hosts back to what was made on them, where they differ: files, units, kernel settings. The spec stays as it is. */
export const repair = {
  ...named('repair'),
  summary: 'Put right what differs on hosts from what was made there',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'repair',
    description:
      'Takes no field of its own: all hosts that run a kubelet are compared, and those that differ put right.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  planning: {
    named(member, record) {
      if (!record || stateOf(record) !== 'Joined' || isEtcdOnly(member)) return undefined;
      return 'change';
    },
    unnamed: () => undefined,
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      {
        name: 'Repair control planes',
        works: (host) => isRepaired(host) && isMaster(host.member),
        pace: 'one',
        cut: 'between',
      },
      {
        name: 'Repair workers',
        works: (host) => isRepaired(host) && !isMaster(host.member),
        pace: 'all',
        cut: 'between',
      },
    ],
  },
  check: (situation) => onlyChanges([], situation),
} satisfies Operation;
