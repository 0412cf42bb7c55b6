import { finalizerOf } from '#api/names.ts';
import { isNotFound } from '#runtime/wire/api-error.ts';
import type { Perform } from './effect.ts';
import { patchMetadata } from './patch-metadata.ts';

/**
 * Removes the finalizer. Then deletes the cluster state Secret, or makes it a tombstone if hosts are left. Throws if the API
 * server has hosts that the cache does not show.
 */
export const releaseObject: Perform<'let-go'> = async (_effect, snapshot, deps) => {
  const { finalizers = [], name = '' } = snapshot.cluster.metadata;
  const { clusterId, hosts, binding } = snapshot;
  // The cache may be behind, and a cluster without its finalizer can no longer reset its hosts.
  if (hosts.length === 0 && binding.kind === 'ours' && (await deps.hosts.holdsAny(clusterId)))
    throw new Error(`cluster-id ${clusterId} holds hosts that the cache does not show yet`);
  try {
    await patchMetadata(snapshot, deps, {
      finalizers: finalizers.filter((text) => text !== finalizerOf(name)),
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  // If the process dies before this, vanished.ts removes the rest.
  if (binding.kind === 'ours') await deps.clusterStates.drop(clusterId, hosts.length > 0);
};
