import { clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { type HostRecord, isInCluster, stateOf } from '#api/host-record.ts';
import { remembered } from '#base/remembered.ts';
import { joins, leaves, type PlannedHost, stays } from '#protocol/run-spec.ts';
import type { Situation, StepPlan } from './plan-for.ts';

/** Steps and rules that operations share which change etcd members, stacked or external. */

/** Whether the host is an external etcd member. */
export const isExternalEtcd = ({ member: host }: PlannedHost): boolean => hasEtcd(host) && !isMaster(host);
const joinsExternalEtcd = (host: PlannedHost): boolean => joins(host) && isExternalEtcd(host);
/**
 * Whether the host may be an etcd member that leaves. After an abandoned move, a leaving control plane may be one that no
 * list names.
 */
const mayTakeOut = (host: PlannedHost): boolean =>
  leaves(host) && (hasEtcd(host.member) || isMaster(host.member));
const comesOrGoes = (host: PlannedHost): boolean => (joins(host) && hasEtcd(host.member)) || mayTakeOut(host);
/** Whether etcd can be queried on the host. Control planes count too, since a plan does not know where etcd runs now. */
const canAsk = (host: PlannedHost): boolean => stays(host) && (isMaster(host.member) || hasEtcd(host.member));

/** Whether etcd members are added or removed, by the Host records. */
const etcdChanges = remembered(({ spec, hosts }: Situation): boolean => {
  const wanted = new Set([...clusterHostsOf(spec.cluster).values()].filter(hasEtcd).map(({ ip }) => ip));
  const present = hosts.filter((record) => isInCluster(record) && hasEtcd(record.spec));
  return present.length !== wanted.size || present.some((record) => !wanted.has(record.spec.ip));
});

/** Whether external etcd members are added or removed. */
export const externalEtcdChanges = (situation: Situation): boolean =>
  etcdChanges(situation) && hasExternalEtcd(situation);

const hasExternalEtcd = ({ spec }: Situation): boolean =>
  [...clusterHostsOf(spec.cluster).values()].some((host) => hasEtcd(host) && !isMaster(host));

const mayRun = (record: HostRecord): boolean =>
  isInCluster(record) || (stateOf(record) === 'Held' && record.status?.touched === true);

/** Whether the host is an external member of an abandoned move, while the spec has stacked etcd. Only a move removes it. */
export const isLeftOfMove = (record: HostRecord, situation: Situation): boolean =>
  isEtcdOnly(record.spec) && mayRun(record) && !hasExternalEtcd(situation);

/**
 * Whether a move of etcd was abandoned halfway, by the Host records: external hosts that the spec does not name, or that
 * were leaving and are wanted. API servers may use either side then.
 */
export const isHalfMoved = remembered((situation: Situation): boolean => {
  const wanted = clusterHostsOf(situation.spec.cluster);
  return situation.hosts.some(
    (record) =>
      isLeftOfMove(record, situation) ||
      (isEtcdOnly(record.spec) && wanted.has(record.spec.ip) && stateOf(record) === 'Leaving'),
  );
});

const ONE = { pace: 'one', cut: 'between' } as const;

/** An etcd with an unhealthy member is not changed. */
export const checkEtcd: StepPlan = {
  ...ONE,
  name: 'Check etcd',
  works: (host, all) => canAsk(host) && all.some(comesOrGoes),
};

/** Control planes have the certificate authority of etcd, even if the members are external. */
export const issueCertificates: StepPlan = {
  ...ONE,
  name: 'Issue certificates for etcd',
  works: ({ member: host, action }, all) =>
    isMaster(host) && action !== 'leave' && all.some(joinsExternalEtcd),
};

/** Adds one learner at a time: a member that has not caught up does not count for the quorum. */
export const addMembers: StepPlan = {
  ...ONE,
  name: 'Add etcd members',
  works: joinsExternalEtcd,
  installs: true,
};

/**
 * After members were added and before others are removed, so that no API server uses a missing one. Always runs with
 * external etcd, since an interrupted try may have left members that are on record and that no API server uses.
 */
export const pointToEtcd: StepPlan = {
  ...ONE,
  takesOut: 'begun',
  name: 'Point API servers at etcd',
  works: (host) => isMaster(host.member) && !hasEtcd(host.member) && stays(host),
};

/** Preserves quorum: a leader hands over before it leaves. */
export const removeMembers: StepPlan = {
  ...ONE,
  takesOut: 'begun',
  name: 'Remove etcd members',
  works: (host, all) => canAsk(host) && all.some(mayTakeOut),
};
