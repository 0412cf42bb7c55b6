import { type HostRecord, isMember, stateOf } from '#api/host-record.ts';
import { hasEtcd, isEtcdOnly, isMaster, membersOf } from '#api/member.ts';
import { remembered } from '#base/remembered.ts';
import { joins, leaves, type PlannedHost, stays } from '#protocol/run-spec.ts';
import type { Situation, StepPlan } from './plan-for.ts';

/** What operations share that change the members of etcd, beside the control planes or on hosts of their own. */

/** A member of etcd on a host that is no control plane. */
export const isApart = ({ member }: PlannedHost): boolean => hasEtcd(member) && !isMaster(member);
const joinsApart = (host: PlannedHost): boolean => joins(host) && isApart(host);
/** Whatever the lists say of it, a control plane that leaves may have a member beside it: of a move that was given up. */
const mayTakeOut = (host: PlannedHost): boolean =>
  leaves(host) && (hasEtcd(host.member) || isMaster(host.member));
const comesOrGoes = (host: PlannedHost): boolean => (joins(host) && hasEtcd(host.member)) || mayTakeOut(host);
/** The hosts that etcd can be asked on: control planes as well, since a plan does not say where it runs now. */
const canAsk = (host: PlannedHost): boolean => stays(host) && (isMaster(host.member) || hasEtcd(host.member));

/** Whether members of etcd come or go, by the records. */
const etcdChanges = remembered(({ spec, hosts }: Situation): boolean => {
  const wanted = new Set([...membersOf(spec.cluster).values()].filter(hasEtcd).map(({ ip }) => ip));
  const present = hosts.filter((record) => isMember(record) && hasEtcd(record.spec));
  return present.length !== wanted.size || present.some((record) => !wanted.has(record.spec.ip));
});

/** The same, of members on hosts of their own. */
export const etcdChangesApart = (situation: Situation): boolean =>
  etcdChanges(situation) &&
  [...membersOf(situation.spec.cluster).values()].some((member) => hasEtcd(member) && !isMaster(member));

const apartIn = ({ spec }: Situation): boolean =>
  [...membersOf(spec.cluster).values()].some((member) => hasEtcd(member) && !isMaster(member));

const mayRun = (record: HostRecord): boolean =>
  isMember(record) || (stateOf(record) === 'Held' && record.status?.touched === true);

/** A host of its own that a move was to give etcd, while the spec has etcd beside the control planes: only a move takes it out. */
export const isLeftOfMove = (record: HostRecord, situation: Situation): boolean =>
  isEtcdOnly(record.spec) && mayRun(record) && !apartIn(situation);

/**
 * Whether a move of etcd was given up halfway, by the records: hosts of its own that the spec has no use for, or that were
 * on their way out and are wanted. API servers may ask either side then.
 */
export const isHalfMoved = remembered((situation: Situation): boolean => {
  const wanted = membersOf(situation.spec.cluster);
  return situation.hosts.some(
    (record) =>
      isLeftOfMove(record, situation) ||
      (isEtcdOnly(record.spec) && wanted.has(record.spec.ip) && stateOf(record) === 'Leaving'),
  );
});

const ONE = { pace: 'one', cut: 'between' } as const;

/** Nothing of an etcd is changed that is not whole. */
export const checkEtcd: StepPlan = {
  ...ONE,
  name: 'Check etcd',
  works: (host, all) => canAsk(host) && all.some(comesOrGoes),
};

/** The authority of etcd is on the control planes, wherever its members run. */
export const issueCertificates: StepPlan = {
  ...ONE,
  name: 'Issue certificates for etcd',
  works: ({ member, action }, all) => isMaster(member) && action !== 'leave' && all.some(joinsApart),
};

/** One learner at a time: a member that has not caught up counts for nothing. */
export const addMembers: StepPlan = {
  ...ONE,
  name: 'Add etcd members',
  works: joinsApart,
  installs: true,
};

/**
 * After members have come, before others go: so no API server asks one that is not there. Wherever etcd has hosts of its
 * own, since a try that was cut short may have left members that are on record and that no API server asks.
 */
export const leadToEtcd: StepPlan = {
  ...ONE,
  takesOut: 'begun',
  name: 'Point API servers at etcd',
  works: (host) => isMaster(host.member) && !hasEtcd(host.member) && stays(host),
};

/** So that as many as can be are left to agree; of those that leave, whoever leads hands over before. */
export const removeMembers: StepPlan = {
  ...ONE,
  takesOut: 'begun',
  name: 'Remove etcd members',
  works: (host, all) => canAsk(host) && all.some(mayTakeOut),
};
