import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import { withoutCredentials } from './spec-hash.ts';

/** A network in which no host of a cluster can be. */
export interface ReservedNetwork {
  cidr: string;
  /** The problem of an address in it: `is a loopback address`. */
  why: string;
}

/** The source of defaults of a spec. */
export interface Offer {
  /** Kubernetes versions that can be installed, newest first. */
  versions: readonly string[];
  /** Networks in which no host of a cluster can be. */
  reservedNetworks?: readonly ReservedNetwork[];
  /** Whether users' playbooks run (--allow-hooks). */
  hooks?: boolean;
}

/**
 * Returns the spec with every default filled in, as an operation uses it. An absent field means "unchanged": an existing
 * cluster keeps its version and the settings that it was created with.
 */
export function resolveSpec(
  spec: Spec,
  offer: Offer,
  presentVersion: string | undefined,
  applied?: Spec,
): Spec {
  const { cluster, ...rest } = withoutCredentials(spec);
  const kubeadm = cluster.kubeadm ?? applied?.cluster.kubeadm;
  const manifests = spec.addons?.manifests ?? applied?.addons?.manifests;
  const version = cluster.kubeVersion ?? presentVersion ?? offer.versions[0];
  return {
    ...rest,
    cluster: {
      ...cluster,
      timeout_mins: cluster.timeout_mins ?? String(DEFAULTS.timeoutMinutes),
      clusterType: cluster.clusterType ?? DEFAULTS.clusterType,
      deployMode: cluster.deployMode ?? DEFAULTS.deployMode,
      podCIDR: cluster.podCIDR ?? DEFAULTS.podCIDR,
      serviceCIDR: cluster.serviceCIDR ?? DEFAULTS.serviceCIDR,
      ...(version === undefined ? {} : { kubeVersion: version }),
      ...(kubeadm === undefined ? {} : { kubeadm }),
    },
    addons: {
      network: spec.addons?.network ?? applied?.addons?.network ?? DEFAULTS.network,
      ...(manifests === undefined ? {} : { manifests }),
    },
  };
}
