import { z } from 'zod';
import { type ClusterHost, clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { snapshotNameSchema, snapshotTime } from '#api/etcd-snapshots.ts';
import { isInCluster, stateOf } from '#api/host-record.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Problem } from '#base/errors.ts';
import { joins, leaves, type PlannedHost } from '#protocol/run-spec.ts';
import { type ChangeKind, changesBetween, onlyChanges } from './changes.ts';
import { ofOneThatStays, pointHosts } from './control-planes.ts';
import { isExternalEtcd } from './etcd.ts';
import { named, type Operation, resetHosts } from './operation.ts';
import type { Situation, StepPlan } from './plan-for.ts';
import { editOfLists, editRequest, hostList, type Present, retryField } from './request.ts';

const SNAPSHOT = `metadata.annotations[${annotations.snapshot}]`;
const CONFIRMED = `metadata.annotations[${annotations.confirmDataLossSince}]`;
const timeSchema = z.iso.datetime({
  offset: true,
  error: 'is not a time; write it like 2026-11-29T02:00:00Z',
});

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

/** Changes of the lists that a restore carries out: whatever host has the data then. */
const KINDS: readonly ChangeKind[] = [
  'control planes added',
  'control planes removed',
  'etcd members added',
  'etcd members removed',
];

/** Refuses a change between stacked and external etcd: data of one kind is not kept where the other one is made. */
function movedEtcd({ applied, spec }: Situation): Problem[] {
  const isExternal = (of: Spec) =>
    [...clusterHostsOf(of.cluster).values()].some((host) => hasEtcd(host) && !isMaster(host));
  return applied && isExternal(applied) !== isExternal(spec)
    ? [
        {
          field: 'spec.cluster.etcdList',
          reason: 'moves etcd, which a restore does not; restore first, and ask for "moving-etcd" then',
        },
      ]
    : [];
}

/** Refuses lists of an edit that may have been meant for another operation: its hosts would be stopped and reset. */
function pendingLists({ spec, applied }: Present): Problem[] {
  const pending = applied
    ? changesBetween(applied, spec).find(({ kind }) => KINDS.includes(kind))
    : undefined;
  return pending
    ? [
        {
          field: pending.field,
          value: pending.ip,
          reason:
            'differs from the hosts of the cluster; name the whole list to restore onto these hosts, or set it back',
        },
      ]
    : [];
}

/** Refuses external members on hosts that do more: only those with a host of their own can be made anew. */
function externalProblems({ spec }: Situation): Problem[] {
  const members = [...clusterHostsOf(spec.cluster).values()].filter(hasEtcd);
  if (members.every(isMaster)) return [];
  return members
    .filter((host) => !isEtcdOnly(host))
    .map((host) => ({
      field: 'spec.cluster.etcdList',
      value: host.ip,
      reason: `names ${host.ip}, which is a ${isMaster(host) ? 'control plane' : 'worker'} too; a restore of such a member is not implemented; move etcd to hosts of its own first`,
    }));
}

const isControlPlane = (host: PlannedHost): boolean => joins(host) && isMaster(host.member);
const isMadeAnew = (host: Pick<ClusterHost, 'duties'>): boolean => isMaster(host) || hasEtcd(host);
/** After this, the former data is no longer in use. */
const FINAL = { installs: true, cut: 'never' } as const;
const onFirst: StepPlan['works'] = (host, all) => host === all.find(isControlPlane);
/** Works on all external members, or on the first control plane, whose member the others join. */
const onRestoredMembers: StepPlan['works'] = (host, all, spec) =>
  all.some(isExternalEtcd) ? isExternalEtcd(host) : onFirst(host, all, spec);

/**
 * Makes control planes and external members anew from a snapshot: on their hosts as they are, damaged, or empty. Workers
 * keep running. The former data of etcd stays on each host until the next restore (etcd.io, Disaster recovery).
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
      confirmDataLossSince: timeSchema.optional().meta({
        description:
          'The time of the snapshot, or an earlier one, such as 2026-11-29T02:00:00Z. Required without retry.',
      }),
      masterList: hostList('The whole list of control planes after the restore; left out: unchanged.'),
      etcdList: hostList(
        'The whole list of hosts of etcd after it, where it has its own; left out: unchanged.',
      ),
      retry: retryField,
    },
    names: { [SNAPSHOT]: 'snapshot', [CONFIRMED]: 'confirmDataLossSince' },
    example: { snapshot: '20261129t020000z-7', confirmDataLossSince: '2026-11-29T02:00:00Z' },
    // A retry keeps what the request before it said. Without one, the confirmation of an earlier restore does not count.
    edit: (present, { retry, snapshot, confirmDataLossSince, masterList, etcdList }) => ({
      change: editOfLists(present, { masterList, etcdList }, true).change,
      problems: retry || masterList || etcdList ? [] : pendingLists(present),
      annotations: {
        ...(retry && snapshot === undefined ? {} : { [annotations.snapshot]: snapshot ?? null }),
        ...(retry && confirmDataLossSince === undefined
          ? {}
          : { [annotations.confirmDataLossSince]: confirmDataLossSince ?? null }),
      },
    }),
  }),
  mayChange: [],
  needsKubeconfig: true,
  renewsKubeconfig: true,
  snapshot: 'load',
  planning: {
    named: (host, record, situation) => {
      if (isMadeAnew(host)) return 'join';
      if (!record || stateOf(record) !== 'Joined') return undefined;
      return ofOneThatStays(host, record, situation) ?? 'stay';
    },
    // They must not run beside the restored cluster.
    unnamed: (record) =>
      isMadeAnew(record.spec) && (isInCluster(record) || record.status?.touched === true)
        ? 'leave'
        : undefined,
    mayBeAway: (host) => !isMadeAnew(host),
    anyMachine: isMadeAnew,
    steps: [
      { name: 'Load the snapshot', byRun: true, works: onFirst, pace: 'one', cut: 'between' },
      { name: 'Take hosts', works: () => true, pace: 'all', cut: 'between' },
      { name: 'Prepare hosts', works: joins, installs: true, pace: 'all', cut: 'between' },
      { name: 'Send the snapshot', works: onRestoredMembers, pace: 'all', cut: 'between' },
      { name: 'Stop control planes that leave', works: leaves, takesOut: 'begun', pace: 'all', cut: 'never' },
      { ...FINAL, name: 'Stop control planes', works: joins, pace: 'all' },
      { ...FINAL, name: 'Issue certificates for etcd', works: onFirst, pace: 'one' },
      { ...FINAL, name: 'Restore etcd', works: onRestoredMembers, pace: 'all' },
      {
        ...FINAL,
        name: 'Start etcd',
        works: (host) => joins(host) && isExternalEtcd(host),
        pace: 'all',
      },
      { ...FINAL, name: 'Start the control plane', works: onFirst, pace: 'one' },
      { name: 'Admit hosts', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Join hosts', works: isControlPlane, installs: true, pace: 'all', cut: 'between' },
      pointHosts,
      {
        name: 'Remove nodes that left',
        works: (host, all) => isControlPlane(host) && all.some(leaves),
        pace: 'one',
        cut: 'between',
      },
      { name: 'Wait for the cluster', works: isControlPlane, pace: 'one', cut: 'between' },
      { name: 'Fetch the kubeconfig', works: isControlPlane, pace: 'one', cut: 'between' },
      resetHosts,
      { name: 'Remove former data', works: joins, pace: 'all', cut: 'between' },
    ],
  },
  check: (situation) => [
    ...onlyChanges(KINDS, situation),
    ...snapshotProblems(situation),
    ...externalProblems(situation),
    ...movedEtcd(situation),
  ],
} satisfies Operation;
