import { keyOf } from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Snapshot } from '../decide/snapshot.ts';
import type { EffectDeps } from './effect.ts';

/** Patches the metadata. Throws Conflict if the object has changed since the snapshot. */
export async function patchMetadata(
  { cluster }: Snapshot,
  { client }: EffectDeps,
  metadata: Record<string, unknown>,
): Promise<void> {
  const { resourceVersion } = cluster.metadata;
  const patch = { metadata: { ...metadata, resourceVersion } };
  await client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
}
