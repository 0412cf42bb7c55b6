import { textOf } from '#api/cluster-facts.ts';
import { isFree } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { annotations, finalizerOf, labels } from '#api/names.ts';
import { WORDS } from '#api/words.ts';
import { messageOf } from '#base/errors.ts';
import type { Logger } from '#base/log.ts';
import type { Installer } from '#installer/installer.ts';
import type { Client } from '#runtime/client/client.ts';
import type { ReconcileResult } from '#runtime/controller/controller.ts';
import { isAlreadyExists, isForbidden, isNotFound } from '#runtime/wire/api-error.ts';
import type { ClusterStates } from './state/cluster-state.ts';
import type { Hosts } from './state/hosts.ts';

interface Vanished {
  client: Client;
  clusterStates: ClusterStates;
  hosts: Hosts;
  installer: Installer;
  clusterStatesMarked(cluster: string): readonly KubeObject[];
  log: Logger;
}

/** How long until cache and server must agree whether an object is there. */
const LOOK_AGAIN_MS = 5_000;
/** How long until a cluster that could not be brought back is tried again. */
const RETRY_MS = 600_000;

/**
 * Removes what an object that is gone left. A cluster state Secret without hosts is left by a crash between the last two
 * steps of a deletion; a tombstone without hosts is not needed any more. A cluster state Secret with hosts means that a
 * user stripped the finalizer: the object is made again, annotated for deletion, so that its hosts are reset.
 */
export async function settleVanished(
  key: ObjectKey,
  { client, clusterStates, hosts, installer, clusterStatesMarked, log }: Vanished,
): Promise<ReconcileResult> {
  // What follows destroys, and the cache may be behind: the server is asked. One of the two is wrong until later.
  if (await client.find(KUBERNETES_CLUSTERS, key)) return { requeueAfterMs: LOOK_AGAIN_MS };
  // Which cluster state Secrets there are the cache may say: one that it shows later comes here again.
  for (const secret of clusterStatesMarked(textOf(key))) {
    const clusterId = secret.metadata.labels?.[labels.clusterId] ?? '';
    const held = await hosts.ofCluster(clusterId);
    const live = secret.metadata.labels?.[labels.purpose] === 'anchor';
    // A run that only looked at hosts held none of them, and has the keys to them.
    if (held.length === 0)
      for (const attempt of await installer.list(clusterId)) await installer.remove(attempt);
    if (held.length === 0) await clusterStates.drop(clusterId, false);
    else if (live && held.every(isFree)) await clusterStates.drop(clusterId, true);
    else if (live) {
      try {
        await bringBack(client, key, clusterId);
        log.warn(
          { clusterId, hosts: held.length },
          'an object that still had hosts was gone; it is deleted anew',
        );
      } catch (error) {
        // Its namespace is gone or going: the hosts stay held, and nobody else gets them.
        if (!isNotFound(error) && !isForbidden(error)) throw error;
        log.warn({ clusterId, error: messageOf(error) }, 'an object that still had hosts cannot come back');
        return { requeueAfterMs: RETRY_MS };
      }
    }
  }
  // Logs outlive their runs, for people; with the cluster they go.
  await installer.forget(textOf(key));
  return undefined;
}

/** The cluster state Secret and the records know all that a deletion needs; the spec is gone and is not needed. */
async function bringBack(client: Client, key: ObjectKey, clusterId: string): Promise<void> {
  const cluster: KubernetesCluster = {
    metadata: {
      ...key,
      finalizers: [finalizerOf(key.name)],
      annotations: {
        [annotations.clusterId]: clusterId,
        [annotations.operation]: WORDS.delete.asked,
        [annotations.requestedBy]: 'finalizer-removed',
      },
    },
    spec: { cluster: {} },
  };
  try {
    await client.create(KUBERNETES_CLUSTERS, cluster);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
