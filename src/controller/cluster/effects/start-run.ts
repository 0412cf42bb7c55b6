import { keyOf, textOf } from '#api/cluster-facts.ts';
import { readHooks } from '../state/hooks.ts';
import { pinnedKeysOf } from '../state/hosts.ts';
import { mergeKnownHosts } from '../state/known-hosts.ts';
import { knownMachines, ownClusters } from '../state/known-machines.ts';
import { manifestVars } from '../state/manifests.ts';
import type { Perform } from './effect.ts';

/** Starts the Job that only looks at hosts, with the credentials as they are now. */
export const startLook: Perform<'look'> = async (
  { members, hooks, attempt },
  snapshot,
  { client, clusterStates, hosts, installer, records },
) => {
  const { cluster } = snapshot;
  await hosts.refuseOthers(snapshot.clusterId, textOf(keyOf(cluster)), members);
  const files = await manifestVars(client, cluster, cluster.spec, attempt.order.steps);
  await readHooks(client, cluster, hooks);
  const access = await clusterStates.presentAccess(cluster);
  const knownHosts = mergeKnownHosts(access.knownHosts, pinnedKeysOf(snapshot.hosts));
  const vars = { ...attempt.order.vars, ...files };
  const { username } = access;
  const order = {
    ...attempt.order,
    vars,
    username,
    knownMachines: knownMachines(attempt.order, records()),
    ownClusters: ownClusters(attempt.order, records()),
  };
  await installer.start({ ...attempt, order, access: { ...access, knownHosts } });
};
/** Starts the Job of an operation, with the credentials that it was accepted with. */
export const startRun: Perform<'start'> = async (
  { attempt },
  snapshot,
  { client, clusterStates, installer, records },
  { reclaims },
) => {
  const { order, ...rest } = attempt;
  const { cluster, operation } = snapshot;
  // As the operation was accepted with them, whatever the spec says by now.
  const files = await manifestVars(client, cluster, operation?.spec ?? cluster.spec, order.steps);
  const access = await clusterStates.accessOf(snapshot.clusterId, attempt.sequence);
  const hosts = order.hosts.map((host) => {
    const reclaim = host.action === 'join' ? (host.reclaim ?? reclaims.get(host.member.ip)) : undefined;
    return { ...host, ...(reclaim === undefined ? {} : { reclaim }) };
  });
  await installer.start({
    ...rest,
    order: {
      ...order,
      vars: { ...order.vars, ...files },
      hosts,
      username: access.username,
      knownMachines: knownMachines(order, records()),
      ownClusters: ownClusters(order, records()),
    },
    access: { ...access, knownHosts: mergeKnownHosts(access.knownHosts, pinnedKeysOf(snapshot.hosts)) },
  });
};
/** Starts the Job of a hook. */
export const startHook: Perform<'hook'> = async (
  { hook, attempt },
  { clusterId, cluster, hosts },
  { client, clusterStates, installer, records },
) => {
  const [text = ''] = await readHooks(client, cluster, [hook]);
  const access = await clusterStates.accessOf(clusterId, attempt.sequence);
  const knownHosts = mergeKnownHosts(access.knownHosts, pinnedKeysOf(hosts));
  const { username } = access;
  const order = { ...attempt.order, username, knownMachines: knownMachines(attempt.order, records()) };
  await installer.start({ ...attempt, order, hook: text, access: { ...access, knownHosts } });
};
