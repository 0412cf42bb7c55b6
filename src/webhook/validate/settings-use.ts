import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Change } from './kubernetes-cluster.ts';

/** What decides whose programs run in a cluster, and who may do what there. */
const ruling = ({ cluster: { imagesRegistry, kubeadm = {} } }: Spec) => {
  const { kubelet, patches, registryMirrors, proxy } = kubeadm;
  return { imagesRegistry, kubelet, patches, registryMirrors, proxy };
};

/**
 * Whether an edit changes settings by which somebody could open the cluster to himself. Whoever makes an object can read
 * the key to its hosts; whoever edits one may only have the right to use it.
 */
export const changesRule = ({ old, next }: Pick<Change, 'old' | 'next'>): boolean =>
  old !== undefined && canonicalJson(ruling(old.spec)) !== canonicalJson(ruling(next.spec));
