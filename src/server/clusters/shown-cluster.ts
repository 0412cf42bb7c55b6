import type { z } from 'zod';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { clusterObject } from '#rest/answers.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns the object without credentials and bookkeeping. */
export function shownCluster({ metadata, spec, ...rest }: KubernetesCluster): z.infer<typeof clusterObject> {
  const { managedFields: _fields, annotations = {}, ...kept } = metadata;
  const { [LAST_APPLIED]: _text, ...shown } = annotations;
  const { authConfig: _secret, ...cluster } = spec.cluster;
  return { ...rest, metadata: { ...kept, annotations: shown }, spec: { ...spec, cluster } };
}
