import { type Check, error, fine, type HostRole, joins } from '../check.ts';
import { isOpen } from './owner.ts';

/** Source: kubernetes.io, Ports and Protocols. */
const CONTROL_PLANE = [6443, 10250, 10257, 10259];
/** Port 6443 is for the balancer in front of several API servers. */
const WORKER = [6443, 10250, 10256];
const ETCD = [2379, 2380];
const NEEDED: Partial<Record<HostRole, readonly number[]>> = {
  'control-plane': CONTROL_PLANE,
  worker: WORKER,
  etcd: ETCD,
};

export const ports: Check = {
  name: 'ports',
  script:
    () => `cat /proc/net/tcp /proc/net/tcp6 | awk '$4=="0A" {split($2,a,":"); print a[length(a)]}' | sort -u |
while read -r hex; do say port "$(printf %d "0x$hex")"; done`,
  good: '@port 22',
  check(context) {
    const { host } = context;
    // On a host of this cluster, our own kubelet listens.
    if (!joins(context) || isOpen(context)) return fine;
    const needed = [...(NEEDED[host.role] ?? []), ...(host.withEtcd ? ETCD : [])];
    const taken = [...new Set(needed)].filter((port) => host.said.all('port').includes(String(port)));
    return taken.length === 0
      ? fine
      : error(`something listens on TCP ${taken.join(', ')}, which Kubernetes needs`);
  },
};
