import { type Check, error, fine, joins } from '../check.ts';

/**
 * Finds `lost+found` in etcd's data directory, which a separate file system has. kubeadm refuses a directory with any
 * content (preflight DirAvailable). The foreign check reports any other content.
 */
export const etcdFolder: Check = {
  name: 'etcd-folder',
  script: () => `[ ! -e "\${MATRYOSHKA_ROOT:-}/var/lib/etcd/lost+found" ] || say etcdFolder lost+found`,
  good: '',
  check: (context) =>
    !joins(context) || !context.host.kubeadmMakesEtcd || !context.host.said.has('etcdFolder')
      ? fine
      : error(
          '/var/lib/etcd has lost+found, and kubeadm refuses a folder that is not empty (DirAvailable--var-lib-etcd); ' +
            'remove it with "rmdir /var/lib/etcd/lost+found", or mount the disk elsewhere and bind an empty folder of it there',
        ),
};
