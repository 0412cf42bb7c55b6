import { isSecretOf, type Secret } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { labels } from '#api/names.ts';

/** What a Secret beside a cluster is for: the key that came by REST, or what the controller keeps for people. */
export type Purpose = 'credentials' | 'access';

/** The mark of the Secret of a key that came by REST. */
export const OWN_CREDENTIALS = { [labels.purpose]: 'credentials' } as const;

/** Whether the operator made the Secret for this very cluster. */
export const isOwnSecret = (
  secret: Secret,
  { name = '', uid }: KubernetesCluster['metadata'],
  purpose: Purpose,
): boolean =>
  isSecretOf(secret, purpose, name) &&
  (secret.metadata.ownerReferences ?? []).some((owner) => uid !== undefined && owner.uid === uid);

/** Whether the operator made the Secret for a cluster of that name: this one, or one that is gone. */
export const mayBeReplaced = (secret: Secret, cluster: string): boolean =>
  isSecretOf(secret, 'credentials', cluster) && (secret.metadata.ownerReferences ?? []).length > 0;
