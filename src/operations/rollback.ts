import { hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { stateOf } from '#api/host-record.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import type { Problem } from '#base/errors.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { isExternalEtcd } from './etcd.ts';
import { named, type Operation } from './operation.ts';
import type { Situation } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';

const isControlPlane = ({ member: host }: PlannedHost): boolean => isMaster(host);
const isWorker = (host: PlannedHost): boolean => !isControlPlane(host) && !isEtcdOnly(host.member);

/**
 * Reasons after a success of these operations, by their annotation values. A rollback can be repeated: a worker that was away
 * may be back.
 */
const REASONS = new Map([
  [
    OPERATION_VALUES.create.asked,
    'the cluster was created with this version, and no upgrade has begun since',
  ],
  [OPERATION_VALUES.update.asked, 'the last upgrade has finished, and Kubernetes supports no downgrade'],
  [OPERATION_VALUES.rollback.asked, undefined],
]);

/** Refuses if no upgrade is unfinished. Status remembers only some requests; without any of these, the hosts decide. */
function nothingToUndo({ requests = [], version }: Situation): Problem[] {
  const last = requests.findLast(({ word }) => REASONS.has(word));
  const why = last?.result === 'finished' ? REASONS.get(last.word) : undefined;
  if (why === undefined) return [];
  const reason = `there is nothing to undo: ${why}`;
  return [
    { field: 'spec.cluster.kubeVersion', ...(version === undefined ? {} : { value: version }), reason },
  ];
}

/**
 * Undoes an upgrade that has not finished: the former programs and static pods return to every host that has later ones.
 * It does not ask whether the cluster is healthy, so that a broken cluster can go back.
 */
export const rollback = {
  ...named('rollback'),
  summary: 'Undo an unfinished upgrade',
  phase: 'Updating',
  ends: 'Running',
  request: editRequest({
    route: 'rollback',
    description: 'Undoes an upgrade that has failed or was cancelled.',
    fields: { retry: retryField },
    example: {},
    edit: ({ applied }) => ({
      change: applied?.cluster.kubeVersion === undefined ? {} : { kubeVersion: applied.cluster.kubeVersion },
      problems: [],
    }),
  }),
  mayChange: [],
  renewsKubeconfig: true,
  precheck: 'reach',
  planning: {
    named: (_host, record) => (record && stateOf(record) === 'Joined' ? 'change' : undefined),
    unnamed: () => undefined,
    mayBeAway: (host) => !isMaster(host) && !hasEtcd(host),
    steps: [
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Look for an unfinished upgrade', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Check that the cluster can go back', works: isControlPlane, pace: 'all', cut: 'between' },
      { name: 'Prepare the rollback', works: () => true, installs: true, pace: 'all', cut: 'between' },
      { name: 'Roll back workers', works: isWorker, installs: true, pace: { atMost: 10 }, cut: 'never' },
      { name: 'Roll back control planes', works: isControlPlane, installs: true, pace: 'one', cut: 'never' },
      { name: 'Roll back etcd members', works: isExternalEtcd, installs: true, pace: 'one', cut: 'never' },
      { name: "Restore the cluster's objects", works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Wait for nodes', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Fetch the kubeconfig', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Remove the later version', works: () => true, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => [...nothingToUndo(situation), ...onlyChanges([], situation)],
} satisfies Operation;
