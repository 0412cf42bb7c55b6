import { type Check, error, fine } from '../check.ts';

/**
 * Compares the host with its record in /etc/matryoshka/joined: the cluster's id, the node name and the address. Hosts that
 * joined before the last two were recorded have only the id.
 */
export const joined: Check = {
  name: 'joined',
  script: () => '[ -f /etc/matryoshka/joined ] && say joined "$(head -n 1 /etc/matryoshka/joined)"',
  good: '',
  check({ host }) {
    const [clusterId, node, address] = host.said.text('joined').split(' ');
    if (clusterId !== host.clusterId || node === undefined || address === undefined) return fine;
    if (node === host.name && address === host.ip) return fine;
    return error(
      `HostConflict: /etc/matryoshka/joined says that this machine is node ${node} at ${address} of this cluster; ` +
        `the operation takes it for node ${host.name} at ${host.ip}. Name it as it joined, or take it out first`,
    );
  },
};
