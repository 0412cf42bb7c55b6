import { type HostRecord, isMember } from '#api/host-record.ts';
import { hasEtcd, isEtcdOnly, isMaster, type Member, membersOf } from '#api/member.ts';
import { remembered } from '#base/remembered.ts';
import { type PlannedHost, stays } from '#protocol/run-spec.ts';
import { DRAIN_NODES } from './drain.ts';
import { etcdChangesApart } from './etcd.ts';
import type { Situation, StepPlan } from './plan-for.ts';

/** What operations share that add or remove control planes. */

/** A control plane that is there and stays: the one that everything is asked of is among them. */
export const masterStays = (host: PlannedHost): boolean => isMaster(host.member) && stays(host);

/**
 * Whether hosts must be led to other API servers than before: control planes come or go, and nothing outside stands
 * before them.
 */
const leadsAnew = remembered(({ spec, hosts }: Situation): boolean => {
  if (spec.cluster.externalLoadBalancer !== undefined) return false;
  const wanted = new Set([...membersOf(spec.cluster).values()].filter(isMaster).map(({ ip }) => ip));
  const present = hosts.filter((record) => isMember(record) && isMaster(record.spec));
  return present.length !== wanted.size || present.some((record) => !wanted.has(record.spec.ip));
});

/** The action for a host that is part of the cluster and stays. One that the last run did not get to is led again. */
export const ofOneThatStays = (
  member: Member,
  record: HostRecord,
  situation: Situation,
): PlannedHost['action'] | undefined => {
  const isLed = !isEtcdOnly(member);
  if (isLed && (leadsAnew(situation) || record.status?.lastRun?.ok === false)) return 'change';
  // An API server that is not led with the others would ask members that are gone.
  if (isMaster(member) && etcdChangesApart(situation)) return 'change';
  // Where etcd has hosts of its own, control planes that come are told of them, and those that stay are led there.
  return isMaster(member) || hasEtcd(member) ? 'stay' : undefined;
};

/**
 * A host that only gets other endpoints may be away: it is named, and gets them by the next operation. A member of etcd must
 * answer where control planes change, and an API server where the members change that it asks.
 */
export const mayMissEndpoints = (member: Member, situation: Situation): boolean =>
  !hasEtcd(member) && (!isMaster(member) || !etcdChangesApart(situation));

/** Before control planes come, and before they go: so no host asks one that is not there. */
export const leadHosts: StepPlan = {
  name: 'Point hosts at the API servers',
  works: ({ action }) => action === 'change',
  installs: true,
  pace: 'all',
  cut: 'between',
};

/** A node whose host was reset cannot come back; the list of those that must not would grow for ever. */
export const forgetNodes: StepPlan = {
  name: 'Forget removed nodes',
  works: masterStays,
  pace: 'one',
  cut: 'between',
};

/** Where anything holds a pod, every node is as it was; a node that was being emptied when it was cut off stays cordoned. */
export const drainNodes: StepPlan = {
  name: DRAIN_NODES,
  takesOut: 'cut off',
  works: masterStays,
  pace: 'one',
  cut: 'between',
};
