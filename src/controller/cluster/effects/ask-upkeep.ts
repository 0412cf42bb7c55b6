import { keyOf } from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import type { Perform } from './effect.ts';

/** The operations that the operator requests by itself: as whom, when the last time was, and the Event. */
const UPKEEP = {
  renew: {
    by: 'auto-renew',
    at: annotations.renewedAt,
    event: 'AutoRenew',
    message: 'certificates end soon, and are renewed, as spec.policy.autoRenew says',
  },
  snapshot: {
    by: 'schedule',
    at: annotations.snapshotAskedAt,
    event: 'ScheduledSnapshot',
    message: 'a snapshot is saved, as spec.etcdSnapshots.schedule says',
  },
} as const;

/** Requests an operation as a user would, in one write, so that the time of the last one is never lost. */
export const askUpkeep: Perform<'ask-upkeep'> = async ({ operation, requestId }, { cluster, now }, deps) => {
  const { resourceVersion } = cluster.metadata;
  const { by, at, event, message } = UPKEEP[operation];
  const written = {
    [annotations.operation]: OPERATION_VALUES[operation].asked,
    [annotations.requestId]: requestId,
    [annotations.requestedBy]: by,
    [at]: now.toISOString(),
  };
  const patch = { metadata: { annotations: written, resourceVersion } };
  await deps.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
  deps.event('Normal', event, message);
};
