import { named, type Operation } from './operation.ts';

/** Resets every host that the cluster holds; runs only under a deletionTimestamp. */
export const remove: Operation = {
  ...named('delete'),
  summary: 'Delete a cluster: reset its hosts, then forget it',
  playbook: 'terminate.yml',
  phase: 'Terminating',
  ends: 'Terminating',
  mayChange: [],
  brings: [],
  planning: {
    named: (_host, record) => record && 'leave',
    unnamed: () => 'leave',
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Reset hosts', works: () => true, pace: 'all', cut: 'never' },
    ],
  },
  checks: false,
  check: () => [],
};
