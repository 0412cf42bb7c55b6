import { annotations, finalizerOf } from '#api/names.ts';
import type { Perform } from './effect.ts';
import { patchMetadata } from './patch-metadata.ts';

/** Sets the cluster-id and the finalizer of the object. */
export const adopt: Perform<'adopt'> = (_effect, snapshot, deps) => {
  const { finalizers = [], name = '' } = snapshot.cluster.metadata;
  return patchMetadata(snapshot, deps, {
    annotations: { [annotations.clusterId]: snapshot.clusterId },
    finalizers: [...new Set([...finalizers, finalizerOf(name)])],
  });
};
