import { hasEtcd, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { notCreatedYet } from './changes.ts';
import { named, type Operation } from './operation.ts';
import type { StepPlan } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';

/** Returns a step of the run itself; no playbook has it. */
const step = (name: string, cut: StepPlan['cut'] = 'between'): StepPlan => ({
  name,
  byRun: true,
  works: ({ member: host }) => hasEtcd(host) || isMaster(host),
  pace: 'one',
  cut,
});

/** Saves etcd's data and the keys of the cluster, encrypted, and proves that they can be restored. Changes no host. */
export const snapshot = {
  ...named('snapshot'),
  summary: 'Save a snapshot of etcd',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'snapshot',
    description: 'Saves a snapshot of etcd into the storage of spec.etcdSnapshots.',
    fields: { retry: retryField },
    example: {},
    edit: () => ({ change: {}, problems: [] }),
  }),
  mayChange: [],
  playbook: undefined,
  precheck: 'reach',
  brings: [],
  snapshot: 'save',
  planning: {
    // One member is enough, also if the others are away.
    named: (host, record) =>
      record && stateOf(record) === 'Joined' && (hasEtcd(host) || isMaster(host)) ? 'stay' : undefined,
    unnamed: (record) => (stateOf(record) === 'Joined' ? 'stay' : undefined),
    steps: [step('Save the snapshot'), step('Verify the snapshot'), step('Remove old snapshots')],
  },
  // An edit that waits for its own operation stays as it is.
  check: ({ applied }) => (applied ? [] : [notCreatedYet]),
  target: ({ applied, spec }) => {
    const { etcdSnapshots: _former, ...rest } = applied ?? spec;
    return { ...rest, ...(spec.etcdSnapshots ? { etcdSnapshots: spec.etcdSnapshots } : {}) };
  },
} satisfies Operation;
