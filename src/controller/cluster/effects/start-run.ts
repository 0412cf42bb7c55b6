import { keyOf, textOf } from '#api/cluster-facts.ts';
import { readHooks } from '../state/hooks.ts';
import { pinnedKeysOf } from '../state/hosts.ts';
import { mergeKnownHosts } from '../state/known-hosts.ts';
import { knownMachines, ownClusters } from '../state/known-machines.ts';
import { manifestVars } from '../state/manifests.ts';
import type { Perform } from './effect.ts';

/** Starts the Job that only checks hosts, with the present credentials. */
export const startHostCheck: Perform<'check-hosts'> = async (
  { hosts: clusterHosts, hooks, attempt },
  snapshot,
  { client, clusterStates, hosts, installer, metaNodes, records },
) => {
  const { cluster } = snapshot;
  await hosts.refuseOthers(snapshot.clusterId, textOf(keyOf(cluster)), clusterHosts);
  const files = await manifestVars(client, cluster, cluster.spec, attempt.runSpec.steps);
  await readHooks(client, cluster, hooks);
  const access = await clusterStates.presentAccess(cluster);
  const knownHosts = mergeKnownHosts(access.knownHosts, pinnedKeysOf(snapshot.hosts));
  const vars = { ...attempt.runSpec.vars, ...files };
  const { username } = access;
  const runSpec = {
    ...attempt.runSpec,
    vars,
    username,
    knownMachines: knownMachines(attempt.runSpec, records(), await metaNodes()),
    ownClusters: ownClusters(attempt.runSpec, records()),
  };
  await installer.start({ ...attempt, runSpec, access: { ...access, knownHosts } });
};
/** Starts the Job of an operation, with the credentials that it was accepted with. */
export const startRun: Perform<'start'> = async (
  { attempt },
  snapshot,
  { client, clusterStates, installer, metaNodes, records, snapshotAccess },
  { reclaims },
) => {
  const { runSpec, ...rest } = attempt;
  const { cluster, operation } = snapshot;
  // The spec of the acceptance counts, even if the spec was edited since.
  const files = await manifestVars(client, cluster, operation?.spec ?? cluster.spec, runSpec.steps);
  const access = await clusterStates.accessOf(snapshot.clusterId, attempt.sequence);
  const hosts = runSpec.hosts.map((host) => {
    const reclaim = host.action === 'join' ? (host.reclaim ?? reclaims.get(host.member.ip)) : undefined;
    return { ...host, ...(reclaim === undefined ? {} : { reclaim }) };
  });
  await installer.start({
    ...rest,
    runSpec: {
      ...runSpec,
      vars: { ...runSpec.vars, ...files },
      hosts,
      username: access.username,
      knownMachines: knownMachines(runSpec, records(), await metaNodes()),
      ownClusters: ownClusters(runSpec, records()),
    },
    access: {
      ...access,
      knownHosts: mergeKnownHosts(access.knownHosts, pinnedKeysOf(snapshot.hosts)),
      ...(runSpec.snapshot
        ? {
            snapshots: await snapshotAccess({
              spec: operation?.spec ?? cluster.spec,
              task: runSpec.snapshot.task,
            }),
          }
        : {}),
    },
  });
};
/** Starts the Job of a hook. */
export const startHook: Perform<'hook'> = async (
  { hook, attempt },
  { clusterId, cluster, hosts },
  { client, clusterStates, installer, metaNodes, records },
) => {
  const [text = ''] = await readHooks(client, cluster, [hook]);
  const access = await clusterStates.accessOf(clusterId, attempt.sequence);
  const knownHosts = mergeKnownHosts(access.knownHosts, pinnedKeysOf(hosts));
  const { username } = access;
  const runSpec = {
    ...attempt.runSpec,
    username,
    knownMachines: knownMachines(attempt.runSpec, records(), await metaNodes()),
  };
  await installer.start({ ...attempt, runSpec, hook: text, access: { ...access, knownHosts } });
};
