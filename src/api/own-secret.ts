import type { Secret } from './core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from './kubernetes-cluster.ts';
import { labels } from './names.ts';

/** Purposes of Secrets beside a cluster: a key that came by REST, or what the controller keeps for people. */
export type Purpose = 'credentials' | 'access';

/** The mark of Secrets of that purpose. */
export const markOf = (purpose: Purpose): Record<string, string> => ({ [labels.purpose]: purpose });

/**
 * The owner of a Secret with a name of ours. `ours`: made for this very object. `former`: made for an object of that
 * name that is gone, as after a restore from a backup, which gives objects new uids: it may be replaced, and nothing in
 * it opens anything any more. `foreign`: everything else, a marked Secret without an owner among it; it is left alone.
 */
export type Ownership = 'ours' | 'former' | 'foreign';

export function ownershipOf(
  { metadata }: Secret,
  { name, uid }: KubernetesCluster['metadata'],
  purpose: Purpose,
): Ownership {
  const owners = metadata.ownerReferences ?? [];
  const isOfCluster = owners.every(
    (owner) =>
      owner.kind === KUBERNETES_CLUSTERS.kind &&
      owner.apiVersion.startsWith(`${KUBERNETES_CLUSTERS.group}/`) &&
      owner.name === name,
  );
  if (metadata.labels?.[labels.purpose] !== purpose || owners.length === 0 || !isOfCluster) return 'foreign';
  return owners.some((owner) => uid !== undefined && owner.uid === uid) ? 'ours' : 'former';
}
