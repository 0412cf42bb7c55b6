import type { Secret } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import type { ObjectKey, OwnerReference } from '#api/meta.ts';
import { labels } from '#api/names.ts';

/** The mark that the operator sets on the Secret of a key that came by REST. */
export const OWN_SECRET = { [labels.purpose]: 'credentials' } as const;

const isOfCluster = ({ apiVersion, kind, name }: OwnerReference, cluster: string): boolean =>
  apiVersion.startsWith(`${KUBERNETES_CLUSTERS.group}/`) &&
  kind === KUBERNETES_CLUSTERS.kind &&
  name === cluster;

/** Whether the operator made the Secret for this very cluster. */
export const isOwnSecret = (
  secret: Secret,
  { name, uid }: Pick<ObjectKey, 'name'> & { uid: string },
): boolean =>
  mayBeReplaced(secret, name) && (secret.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);

/** Whether the operator made the Secret for a cluster of that name: this one, or one that is gone. */
export function mayBeReplaced({ metadata }: Secret, cluster: string): boolean {
  const owners = metadata.ownerReferences ?? [];
  const isOurs = metadata.labels?.[labels.purpose] === OWN_SECRET[labels.purpose];
  return isOurs && owners.length > 0 && owners.every((owner) => isOfCluster(owner, cluster));
}
