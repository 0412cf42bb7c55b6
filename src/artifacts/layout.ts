import type { Release } from './releases.ts';

/** File that a host may need. */
export interface Entry {
  /** Name in the roles. */
  readonly name: string;
  /** Path below a source: the upstream URL without its scheme, or `images/…` if upstream has no file. */
  readonly path: string;
  /** Set for the archive of a container image: the name by which the cluster pulls it. */
  readonly image?: string;
  /** Hosts that need it; `balanced` are those that reach several API servers through a balancer on the host. */
  readonly hosts: 'all' | 'masters' | 'balanced';
  /** Upstream's file with the sum, relative to the path; absent if upstream has none. */
  readonly sums?: string;
}

/** Returns the path of a registry's image in a source: `images/<registry>/<name>_<tag>.tar`. */
export const imagePath = (image: string): string => `images/${image.replace(/:([^:/]+)$/, '_$1')}.tar`;

/** Lists every file of a release, with the paths of the upstream sites. */
export function layout(release: Release): Entry[] {
  const kubernetes = `dl.k8s.io/release/${release.kubernetes}/bin/linux/amd64`;
  const github = (repository: string, version: string, file: string) =>
    `github.com/${repository}/releases/download/${version}/${file}`;
  const binary = (name: string, hosts: Entry['hosts'] = 'all'): Entry => ({
    name,
    path: `${kubernetes}/${name}`,
    hosts,
    sums: `${name}.sha256`,
  });
  const controlPlaneImage = (name: string, hosts: Entry['hosts']): Entry => ({
    name,
    path: `${kubernetes}/${name}.tar`,
    image: `registry.k8s.io/${name}:${release.kubernetes}`,
    hosts,
    sums: `${name}.tar.sha256`,
  });
  const image = (name: string, ref: string, hosts: Entry['hosts']): Entry => ({
    name,
    path: imagePath(ref),
    image: ref,
    hosts,
  });
  return [
    binary('kubeadm'),
    binary('kubelet'),
    binary('kubectl', 'masters'),
    {
      name: 'containerd',
      path: github(
        'containerd/containerd',
        `v${release.containerd}`,
        `containerd-${release.containerd}-linux-amd64.tar.gz`,
      ),
      hosts: 'all',
      sums: `containerd-${release.containerd}-linux-amd64.tar.gz.sha256sum`,
    },
    {
      name: 'runc',
      path: github('opencontainers/runc', release.runc, 'runc.amd64'),
      hosts: 'all',
      sums: 'runc.sha256sum',
    },
    {
      name: 'cni-plugins',
      path: github(
        'containernetworking/plugins',
        release.cniPlugins,
        `cni-plugins-linux-amd64-${release.cniPlugins}.tgz`,
      ),
      hosts: 'all',
      sums: `cni-plugins-linux-amd64-${release.cniPlugins}.tgz.sha256`,
    },
    {
      name: 'flannel-cni-plugin',
      path: github(
        'flannel-io/cni-plugin',
        release.flannelCniPlugin,
        `cni-plugin-flannel-linux-amd64-${release.flannelCniPlugin}.tgz`,
      ),
      hosts: 'all',
      sums: `cni-plugin-flannel-linux-amd64-${release.flannelCniPlugin}.tgz.sha256`,
    },
    controlPlaneImage('kube-apiserver', 'masters'),
    controlPlaneImage('kube-controller-manager', 'masters'),
    controlPlaneImage('kube-scheduler', 'masters'),
    controlPlaneImage('kube-proxy', 'all'),
    image('etcd', `registry.k8s.io/etcd:${release.etcd}`, 'masters'),
    image('coredns', `registry.k8s.io/coredns/coredns:${release.coredns}`, 'all'),
    image('pause', `registry.k8s.io/pause:${release.pause}`, 'all'),
    image('balancer', `docker.io/library/haproxy:${release.haproxy}`, 'balanced'),
    image('flannel', `ghcr.io/flannel-io/flannel:${release.flannel}`, 'all'),
    image('kube-router', `docker.io/cloudnativelabs/kube-router:${release.kubeRouter}`, 'all'),
  ];
}
