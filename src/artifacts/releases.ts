/** Offered Kubernetes version with pinned versions of everything that its installation needs. */
export interface Release {
  /** Version as in `spec.cluster.kubeVersion`. */
  readonly kubernetes: string;
  /** Tags of the images that this version's kubeadm pulls. */
  readonly etcd: string;
  readonly coredns: string;
  readonly pause: string;
  readonly containerd: string;
  readonly runc: string;
  readonly cniPlugins: string;
  readonly haproxy: string;
  readonly flannel: string;
  readonly flannelCniPlugin: string;
  readonly kubeRouter: string;
}

/** Versions that all releases have in common. */
const common = {
  containerd: '2.1.5',
  runc: 'v1.3.3',
  cniPlugins: 'v1.9.1',
  haproxy: '3.0.11',
  flannel: 'v0.28.4',
  flannelCniPlugin: 'v1.9.1-flannel1',
  kubeRouter: 'v2.2.1',
} as const;

/**
 * Versions that an installation can offer, the newest first. It offers those whose files it has. The versions of etcd,
 * CoreDNS and pause are those of each kubeadm (cmd/kubeadm/app/constants).
 */
export const releases: readonly [Release, ...Release[]] = [
  { kubernetes: 'v1.36.3', etcd: '3.6.8-0', coredns: 'v1.14.2', pause: '3.10.2', ...common },
  { kubernetes: 'v1.35.4', etcd: '3.6.6-0', coredns: 'v1.13.1', pause: '3.10.1', ...common },
  { kubernetes: 'v1.34.4', etcd: '3.6.5-0', coredns: 'v1.12.1', pause: '3.10.1', ...common },
];

/** Returns the release of a version, with or without its `v`; undefined if it is not offered. */
export function releaseOf(kubeVersion: string): Release | undefined {
  return releases.find(({ kubernetes }) => kubernetes === `v${kubeVersion.replace(/^v/, '')}`);
}
