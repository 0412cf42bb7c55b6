import { keyOf } from '#api/cluster-facts.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { OPERATION_VALUES } from '#api/operation-values.ts';
import type { Perform } from './effect.ts';

/** Replaces a control plane in the spec by a spare host and requests the operation, in one write. */
export const remediate: Perform<'remediate'> = async (
  { change, replaceFrom, requestId, message },
  snapshot,
  deps,
) => {
  const { cluster, now } = snapshot;
  const { resourceVersion } = cluster.metadata;
  const marked = {
    [annotations.operation]: OPERATION_VALUES.replace.asked,
    [annotations.requestId]: requestId,
    [annotations.requestedBy]: 'remediation',
    // In the same write as the edit, so that the time of the last remediation is never lost.
    [annotations.remediedAt]: now.toISOString(),
  };
  const patch = {
    metadata: { annotations: marked, resourceVersion },
    spec: { cluster: change, policy: { replaceFrom } },
  };
  await deps.client.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, keyOf(cluster), patch, { type: 'merge' });
  deps.event('Warning', 'Remediation', message);
};
