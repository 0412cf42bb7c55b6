import { z } from 'zod';
import { clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { snapshotNameSchema, snapshotTime } from '#api/etcd-snapshots.ts';
import { stateOf } from '#api/host-record.ts';
import { annotations } from '#api/names.ts';
import type { Problem } from '#base/errors.ts';
import { joins, type PlannedHost } from '#protocol/run-spec.ts';
import { onlyChanges } from './changes.ts';
import { named, type Operation } from './operation.ts';
import type { Situation, StepPlan } from './plan-for.ts';
import { editRequest, retryField } from './request.ts';

const SNAPSHOT = `metadata.annotations[${annotations.snapshot}]`;
const CONFIRMED = `metadata.annotations[${annotations.confirmDataLossSince}]`;
const timeSchema = z.iso.datetime({ offset: true });

/** The number of snapshots that a refusal names. */
const NAMED = 3;

/** Refuses a snapshot that does not exist, and a restore whose loss of data is not confirmed. */
function snapshotProblems({ restore }: Situation): Problem[] {
  const { snapshot, confirmed, stored = [] } = restore ?? {};
  const names = stored.slice(0, NAMED).map(({ name }) => name);
  const choice = names.length > 0 ? `; the newest are ${names.join(', ')}` : '';
  if (snapshot === undefined)
    return [{ field: SNAPSHOT, reason: `is required: name the snapshot to restore${choice}` }];
  const parsed = snapshotNameSchema.safeParse(snapshot);
  if (!parsed.success)
    return [{ field: SNAPSHOT, value: snapshot, reason: parsed.error.issues[0]?.message ?? 'is not valid' }];
  // The list is as of the last snapshot; without one, only the storage knows.
  if (stored.length > 0 && !stored.some(({ name }) => name === snapshot))
    return [{ field: SNAPSHOT, value: snapshot, reason: `is not in the storage${choice}` }];
  const taken = snapshotTime(snapshot);
  const loss = `everything that was written to the cluster's API since ${taken.toISOString()} is lost`;
  const write = `confirm that with ${taken.toISOString()}`;
  if (confirmed === undefined) return [{ field: CONFIRMED, reason: `is required: ${loss}; ${write}` }];
  if (!timeSchema.safeParse(confirmed).success)
    return [{ field: CONFIRMED, value: confirmed, reason: `is not a time; ${write}` }];
  return Date.parse(confirmed) > taken.getTime()
    ? [{ field: CONFIRMED, value: confirmed, reason: `is later than the snapshot: ${loss}; ${write}` }]
    : [];
}

/** Refuses external members, whose restore is not implemented. */
function externalProblems({ spec }: Situation): Problem[] {
  const external = [...clusterHostsOf(spec.cluster).values()].filter(isEtcdOnly);
  return external.length === 0
    ? []
    : [
        {
          field: 'spec.cluster.etcdList',
          value: external[0]?.ip,
          reason: 'names external members of etcd, and a restore of those is not implemented',
        },
      ];
}

const isControlPlane = (host: PlannedHost): boolean => joins(host) && isMaster(host.member);
/** After this, the former data is no longer in use. */
const FINAL = { installs: true, cut: 'never' } as const;
const first =
  (is: (host: PlannedHost) => boolean): StepPlan['works'] =>
  (host, all) =>
    host === all.find(is);

/**
 * Makes the control planes anew from a snapshot: on their hosts as they are, damaged, or empty. Workers keep running. The
 * former data of etcd stays on each host until the next restore (etcd.io, Disaster recovery).
 */
export const restore = {
  ...named('restore'),
  summary: 'Restore a snapshot of etcd',
  phase: 'Maintaining',
  ends: 'Running',
  request: editRequest({
    route: 'restore',
    description:
      'Restores a snapshot. Everything that was written to the API of the cluster since then is lost.',
    fields: {
      snapshot: snapshotNameSchema
        .optional()
        .meta({ description: 'Name of the snapshot, from status.etcdSnapshots. Required without retry.' }),
      confirmDataLossSince: timeSchema
        .optional()
        .meta({ description: 'The time of the snapshot, or an earlier one. Required without retry.' }),
      retry: retryField,
    },
    names: { [SNAPSHOT]: 'snapshot', [CONFIRMED]: 'confirmDataLossSince' },
    example: { snapshot: '20261129t020000z-7', confirmDataLossSince: '2026-11-29T02:00:00Z' },
    // A retry keeps what the request before it said. Without one, the confirmation of an earlier restore does not count.
    edit: (_present, { retry, snapshot, confirmDataLossSince }) => ({
      change: {},
      annotations: {
        ...(retry && snapshot === undefined ? {} : { [annotations.snapshot]: snapshot ?? null }),
        ...(retry && confirmDataLossSince === undefined
          ? {}
          : { [annotations.confirmDataLossSince]: confirmDataLossSince ?? null }),
      },
      problems: [],
    }),
  }),
  mayChange: [],
  needsKubeconfig: true,
  renewsKubeconfig: true,
  snapshot: 'load',
  planning: {
    named: (host, record) =>
      isMaster(host) || hasEtcd(host) ? 'join' : record && stateOf(record) === 'Joined' ? 'stay' : undefined,
    unnamed: () => undefined,
    anyMachine: isMaster,
    steps: [
      { name: 'Load the snapshot', byRun: true, works: first(isControlPlane), pace: 'one', cut: 'between' },
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Prepare hosts', works: isControlPlane, installs: true, pace: 'all', cut: 'between' },
      { name: 'Send the snapshot', works: first(isControlPlane), pace: 'one', cut: 'between' },
      { ...FINAL, name: 'Stop control planes', works: isControlPlane, pace: 'all' },
      { ...FINAL, name: 'Restore etcd', works: first(isControlPlane), pace: 'one' },
      { ...FINAL, name: 'Start the control plane', works: first(isControlPlane), pace: 'one' },
      { name: 'Admit hosts', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Join hosts', works: isControlPlane, installs: true, pace: 'all', cut: 'between' },
      { name: 'Wait for the cluster', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Fetch the kubeconfig', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Remove former data', works: isControlPlane, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => [
    ...onlyChanges([], situation),
    ...snapshotProblems(situation),
    ...externalProblems(situation),
  ],
} satisfies Operation;
