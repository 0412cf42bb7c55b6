import { keyOf } from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import type { Perform } from './effect.ts';

/** Requests a renewal as a user would, in one write, so that the time of the last one is never lost. */
export const askRenewal: Perform<'ask-renewal'> = async ({ requestId }, { cluster, now }, deps) => {
  const { resourceVersion } = cluster.metadata;
  const written = {
    [annotations.operation]: OPERATION_VALUES.renew.asked,
    [annotations.requestId]: requestId,
    [annotations.requestedBy]: 'auto-renew',
    [annotations.renewedAt]: now.toISOString(),
  };
  const patch = { metadata: { annotations: written, resourceVersion } };
  await deps.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
  deps.event('Normal', 'AutoRenew', 'certificates end soon, and are renewed, as spec.policy.autoRenew says');
};
