import type { Secret } from './core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from './kubernetes-cluster.ts';
import { labels } from './names.ts';

/** Purposes of Secrets beside a cluster: a key from REST, or credentials that the controller keeps for users. */
export type Purpose = 'credentials' | 'access';

/** Returns the label of Secrets with that purpose. */
export const purposeLabel = (purpose: Purpose): Record<string, string> => ({ [labels.purpose]: purpose });

/**
 * The owner of a Secret with one of the operator's names. `ours`: created for this very object. `former`: created for a
 * deleted object of that name, for instance before a restore from a backup, which gives objects new uids. It may be
 * replaced, and its contents no longer give access to anything. `foreign`: everything else, including a labelled Secret
 * without an owner; it is never changed.
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
