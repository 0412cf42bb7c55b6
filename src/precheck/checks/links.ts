import { type Check, error, fine, joins } from '../check.ts';

/** Directories of Matryoshka that kubelet, containerd and etcd know by the kernel's paths. */
export const FOLDERS = [
  '/etc/containerd',
  '/etc/kubernetes',
  '/etc/matryoshka',
  '/opt/containerd',
  '/run/containerd',
  '/usr/libexec/kubernetes',
  '/var/lib/cni',
  '/var/lib/containerd',
  '/var/lib/etcd',
  '/var/lib/kubelet',
  '/var/lib/matryoshka',
  '/var/log/containers',
  '/var/log/pods',
];

/**
 * Finds a symbolic link in the place of one of these directories. kubelet and containerd search their mounts by path and
 * find none through a link. A reset could not decide what behind the link belongs to Matryoshka.
 */
export const links: Check = {
  name: 'links',
  script: () => `R=\${MATRYOSHKA_ROOT:-}
for folder in ${FOLDERS.join(' ')}; do [ ! -L "$R$folder" ] || say link "$folder $(readlink "$R$folder")"; done`,
  good: '',
  check(context) {
    const { host } = context;
    const hasEtcd = host.role !== 'worker' || host.withEtcd === true;
    const found = host.said
      .all('link')
      .map((line) => line.split(' '))
      .filter(([path]) => path !== '/var/lib/etcd' || hasEtcd);
    if (!joins(context) || found.length === 0) return fine;
    return error(
      ...found.map(
        ([path, target]) =>
          `${path} is a link to ${target}; remove the link, make a folder there, and mount the disk on it, or bind it: "${target} ${path} none bind 0 0" in /etc/fstab`,
      ),
    );
  },
};
