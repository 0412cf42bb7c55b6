import { keyOf, textOf } from '#api/cluster-facts.ts';
import { type HostRecord, stateOf } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { refuseUnagreed } from '../decide/approved-plan.ts';
import type { Perform } from './effect.ts';

/** Steps of an operation whose run has logged in to no host yet. */
const BEFORE_LOGIN: readonly string[] = ['starting', 'precheck'];

/** Time within which a failed operation releases hosts that it could not log in to. */
const RELEASE_MS = 60_000;

/**
 * Returns whether a host may become free soon: its cluster has not logged in to it yet, and releases it if the precheck
 * fails. A key that opens nothing must not make other clusters fail.
 */
const isUndecided =
  (client: Client, now: Date) =>
  async (record: HostRecord): Promise<boolean> => {
    if (stateOf(record) !== 'Held' || record.status?.touched === true) return false;
    const [namespace = '', holderName = ''] = record.spec.cluster.split('/');
    const key = { namespace, name: holderName };
    const holder = await client.find<KubernetesCluster>(KUBERNETES_CLUSTERS, key);
    // An object of the same name with another id is another cluster.
    if (holder?.metadata.annotations?.[annotations.clusterId] !== record.spec.clusterId) return false;
    const operation = holder.status?.operation;
    if (operation?.result === undefined) return BEFORE_LOGIN.includes(operation?.step ?? '');
    // The run ended a moment ago, and its hosts are about to be released.
    const agoMs = now.getTime() - Date.parse(operation.endedAt ?? '');
    return record.status?.machineId === undefined && operation.result !== 'finished' && agoMs < RELEASE_MS;
  };

/** Writes a Host record for each host that joins. Throws Refusal or Undecided if another cluster holds one. */
export const holdHosts: Perform<'hold'> = async (
  { hosts: clusterHosts },
  snapshot,
  { client, hosts },
  learned,
) => {
  const { clusterId, cluster } = snapshot;
  const name = textOf(keyOf(cluster));
  for (const { spec } of await hosts.hold(clusterId, name, clusterHosts, isUndecided(client, snapshot.now))) {
    if (spec.reclaim === undefined) continue;
    refuseUnagreed(snapshot, spec.ip, spec.reclaim);
    learned.reclaims.set(spec.ip, spec.reclaim);
  }
};

/** Writes Host records again that were lost while a run was under way. */
export const holdAgain: Perform<'hold-again'> = async (
  { hosts: clusterHosts },
  { clusterId, cluster },
  { hosts },
) => {
  for (const host of clusterHosts) await hosts.holdAgain(clusterId, textOf(keyOf(cluster)), host);
};
