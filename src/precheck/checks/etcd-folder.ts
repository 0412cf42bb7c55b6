import { type Check, error, fine, joins } from '../check.ts';

/**
 * `lost+found` in the folder of etcd's data, as a file system of its own has it. kubeadm refuses a folder with anything in
 * it (preflight DirAvailable). Whatever else is there, the check of foreign things reports.
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
