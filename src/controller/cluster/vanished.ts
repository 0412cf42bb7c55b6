import { textOf } from '#api/cluster-facts.ts';
import { isFree } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { annotations, finalizerOf, labels } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
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
  clusterStatesOf(cluster: string): readonly KubeObject[];
  log: Logger;
}

/** The pause until cache and API server must agree whether an object exists. */
const RECHECK_MS = 5_000;
/** The pause until recreating a cluster is tried again. */
const RETRY_MS = 600_000;

/**
 * Removes what a deleted object left. A crash between the last two steps of a deletion leaves a cluster state Secret without
 * hosts; a tombstone without hosts is no longer needed. If a cluster state Secret has hosts, a user removed the finalizer:
 * the object is recreated, annotated for deletion, so that its hosts are reset.
 */
export async function finishVanished(
  key: ObjectKey,
  { client, clusterStates, hosts, installer, clusterStatesOf, log }: Vanished,
): Promise<ReconcileResult> {
  // The next steps delete, and the cache may be behind, so the API server is asked. If both disagree, try again later.
  if (await client.find(KUBERNETES_CLUSTERS, key)) return { requeueAfterMs: RECHECK_MS };
  // The cache may list the cluster state Secrets: one that it shows later triggers this again.
  for (const secret of clusterStatesOf(textOf(key))) {
    const clusterId = secret.metadata.labels?.[labels.clusterId] ?? '';
    const held = await hosts.ofCluster(clusterId);
    const live = secret.metadata.labels?.[labels.purpose] === 'anchor';
    // A dry run holds no hosts, but its Secret has their credentials.
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
        // The namespace is gone or terminating: the hosts stay held, and no other cluster gets them.
        if (!isNotFound(error) && !isForbidden(error)) throw error;
        log.warn({ clusterId, error: messageOf(error) }, 'an object that still had hosts cannot come back');
        return { requeueAfterMs: RETRY_MS };
      }
    }
  }
  // Logs outlive their runs, for users; they are removed with the cluster.
  await installer.forget(textOf(key));
  return undefined;
}

/**
 * Recreates the object. Cluster state Secret and Host records have all that a deletion needs; the lost spec is not needed.
 */
async function bringBack(client: Client, key: ObjectKey, clusterId: string): Promise<void> {
  const cluster: KubernetesCluster = {
    metadata: {
      ...key,
      finalizers: [finalizerOf(key.name)],
      annotations: {
        [annotations.clusterId]: clusterId,
        [annotations.operation]: OPERATION_VALUES.delete.asked,
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
