import { z } from 'zod';
import { type Check, type Findings, joins } from '../check.ts';

const GIB = 1024 ** 2;

/** Space on a separate disk for each of these, in GiB; `disk` is the limit of /var/lib itself. */
const limits = z.object({
  mountGiB: z
    .strictObject({
      containerd: z.number().default(8),
      kubelet: z.number().default(1),
      etcd: z.number().default(2),
      matryoshka: z.number().default(2),
    })
    .prefault({}),
});

/** Directories from which our programs and the CNI plugins run. */
const RUN_FROM = ['/var/lib/matryoshka', '/opt/cni/bin', '/usr/local/bin'];
const FOLDERS = [...RUN_FROM, '/var/lib/containerd', '/var/lib/kubelet', '/var/lib/etcd', '/etc'];

/** Script that reports the mount, its options and its space for each directory, or for its nearest existing parent. */
const script = `for folder in ${FOLDERS.join(' ')}; do
  at=$folder
  while [ ! -d "$at" ]; do at=\${at%/*}; at=\${at:-/}; done
  mount=$(df -Pk "$at" | awk 'NR == 2 { print $6, $4 }')
  options=$(awk -v at="\${mount% *}" '$2 == at { o = $4 } END { print o }' /proc/self/mounts)
  say mount "$folder $mount $options"
done`;

/** Checks the disks below /var/lib: each separate one must have space, and allow programs to run. */
export const mounts: Check = {
  name: 'mounts',
  script: () => script,
  limits,
  good: '@mount /var/lib/containerd / 90000000 rw,relatime',
  check(context) {
    const findings: Findings = { warnings: [], errors: [] };
    if (!joins(context)) return findings;
    const { host } = context;
    const room: Readonly<Record<string, number>> = limits.parse(context.limits).mountGiB;
    const hasEtcd = host.role !== 'worker' || host.withEtcd === true;
    for (const line of host.said.all('mount')) {
      const [folder = '', at = '', free = '', options = ''] = line.split(' ');
      if (folder === '/var/lib/etcd' && !hasEtcd) continue;
      const flags = options.split(',');
      if (flags.includes('ro'))
        findings.errors.push(`${at}, which ${folder} lies on, is mounted read-only; mount it with "rw"`);
      else if (RUN_FROM.includes(folder) && flags.includes('noexec'))
        findings.errors.push(
          `${at}, which ${folder} lies on, is mounted "noexec", and programs run from there; remove that from its options in /etc/fstab and run "mount -o remount,exec ${at}"`,
        );
      // An overlay on such a disk can still run programs of images, but a directory that is mounted into a pod cannot.
      else if (folder === '/var/lib/kubelet' && flags.includes('noexec'))
        findings.warnings.push(
          `${at}, which ${folder} lies on, is mounted "noexec": pods cannot run programs in their emptyDir volumes`,
        );
      const needed = room[folder.replace('/var/lib/', '')];
      if (needed !== undefined && at === folder && Number(free) < needed * GIB)
        findings.errors.push(
          `${folder} is a file system of its own with ${Math.floor((Number(free) / GIB) * 10) / 10} GiB free; at least ${needed} are needed`,
        );
    }
    return findings;
  },
};
