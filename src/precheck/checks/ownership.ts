import { type Check, error, fine, isOurs, joins } from '../check.ts';

/** Who the host belongs to, in its own words. */
export const owner: Check = {
  name: 'owner',
  check({ host }) {
    // A host that leaves and is another's is left alone, not complained of.
    if (host.role === 'leaving') return fine;
    const { owner: found } = host.facts;
    if (!found || found.released || found.clusterId === host.clusterId) return fine;
    if (host.reclaim === found.clusterId) return fine;
    return error(
      `HostConflict: /etc/matryoshka/owner.json says that it belongs to cluster ${found.clusterId}; ` +
        `to wipe that, set "reclaim: ${found.clusterId}" in the host's entry`,
    );
  },
};

/** Remains of a cluster that nobody of ours has put there. */
export const leftovers: Check = {
  name: 'leftovers',
  check(context) {
    const { host } = context;
    if (!joins(context) || isOurs(context) || host.reclaim !== undefined || host.facts.leftovers.length === 0)
      return fine;
    return error(
      `has remains of another cluster: ${host.facts.leftovers.join(', ')}; run "kubeadm reset" there`,
    );
  },
};
