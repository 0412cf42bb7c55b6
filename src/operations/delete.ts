import { named, type Operation } from './operation.ts';

/** Resets every host that holds the cluster's claim; runs only under a deletionTimestamp. */
export const remove: Operation = {
  ...named('delete'),
  playbook: 'terminate.yml',
  phase: 'Terminating',
  ends: 'Terminating',
  needsKubeconfig: false,
  hosts: ({ claimed }) => ({ joining: [], leaving: claimed.map(({ host }) => host), through: [] }),
  check: () => [],
};
