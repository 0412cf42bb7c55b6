import { type Check, error, fine, isOurs, joins } from '../check.ts';

/** Source: kubernetes.io, Ports and Protocols. */
const CONTROL_PLANE = [6443, 2379, 2380, 10250, 10257, 10259];
const WORKER = [10250, 10256];

export const ports: Check = {
  name: 'ports',
  check(context) {
    const { host } = context;
    // On a host of this cluster it is our own kubelet that listens.
    if (!joins(context) || isOurs(context) || host.reclaim !== undefined) return fine;
    const needed = host.role === 'control-plane' ? CONTROL_PLANE : WORKER;
    const taken = needed.filter((port) => host.facts.ports.includes(port));
    return taken.length === 0
      ? fine
      : error(`something listens on TCP ${taken.join(', ')}, which Kubernetes needs`);
  },
};
