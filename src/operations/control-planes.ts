import { type ClusterHost, clusterHostsOf, hasEtcd, isEtcdOnly, isMaster } from '#api/cluster-host.ts';
import { type HostRecord, isInCluster } from '#api/host-record.ts';
import { remembered } from '#base/remembered.ts';
import { type PlannedHost, stays } from '#protocol/run-spec.ts';
import { DRAIN_NODES } from './drain.ts';
import { externalEtcdChanges } from './etcd.ts';
import type { Situation, StepPlan } from './plan-for.ts';

/** Steps and rules that operations share which add or remove control planes. */

/** Whether the host is a control plane that stays; one of these answers all questions of the run. */
export const masterStays = (host: PlannedHost): boolean => isMaster(host.member) && stays(host);

/**
 * Whether hosts need other API server endpoints: control planes are added or removed, and no external load balancer is in
 * front of them.
 */
const endpointsChange = remembered(({ spec, hosts }: Situation): boolean => {
  if (spec.cluster.externalLoadBalancer !== undefined) return false;
  const wanted = new Set([...clusterHostsOf(spec.cluster).values()].filter(isMaster).map(({ ip }) => ip));
  const present = hosts.filter((record) => isInCluster(record) && isMaster(record.spec));
  return present.length !== wanted.size || present.some((record) => !wanted.has(record.spec.ip));
});

/** Returns the action for a joined host that stays. A host that the last run missed gets its endpoints again. */
export const ofOneThatStays = (
  host: ClusterHost,
  record: HostRecord,
  situation: Situation,
): PlannedHost['action'] | undefined => {
  const usesEndpoints = !isEtcdOnly(host);
  if (usesEndpoints && (endpointsChange(situation) || record.status?.lastRun?.ok === false)) return 'change';
  // An API server that is not pointed at the new members would use members that are gone.
  if (isMaster(host) && externalEtcdChanges(situation)) return 'change';
  // With external etcd, joining control planes need to know the members, and staying ones are pointed at them.
  return isMaster(host) || hasEtcd(host) ? 'stay' : undefined;
};

/**
 * Whether a host may be away while it only gets new endpoints: it is reported and updated by the next operation. An etcd
 * member must answer when control planes change, and an API server must answer when its etcd members change.
 */
export const mayMissEndpoints = (host: ClusterHost, situation: Situation): boolean =>
  !hasEtcd(host) && (!isMaster(host) || !externalEtcdChanges(situation));

/** Runs before control planes join and before they leave, so that no host uses one that is not there. */
export const pointHosts: StepPlan = {
  name: 'Point hosts at the API servers',
  works: ({ action }) => action === 'change',
  installs: true,
  pace: 'all',
  cut: 'between',
};

/** The node of a reset host cannot come back; without this step the list of denied nodes would grow forever. */
export const forgetNodes: StepPlan = {
  name: 'Forget removed nodes',
  works: masterStays,
  pace: 'one',
  cut: 'between',
};

/** If a pod blocks the drain, every node stays as it was; only an interrupted drain leaves its node cordoned. */
export const drainNodes: StepPlan = {
  name: DRAIN_NODES,
  takesOut: 'cut off',
  works: masterStays,
  pace: 'one',
  cut: 'between',
};
