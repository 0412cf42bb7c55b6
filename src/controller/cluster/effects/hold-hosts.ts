import { keyOf, textOf } from '#api/cluster-facts.ts';
import { refuseUnagreed } from '../decide/approved-plan.ts';
import type { Perform } from './effect.ts';

/** Writes a Host record for each host that joins. Throws Refusal if another cluster holds one. */
export const holdHosts: Perform<'hold'> = async ({ hosts: clusterHosts }, snapshot, { hosts }, learned) => {
  const { clusterId, cluster } = snapshot;
  for (const { spec } of await hosts.hold(clusterId, textOf(keyOf(cluster)), clusterHosts)) {
    if (spec.reclaim === undefined) continue;
    refuseUnagreed(snapshot, spec.ip, spec.reclaim);
    learned.reclaims.set(spec.ip, spec.reclaim);
  }
};

/** Writes Host records again that were lost while a run was under way. */
export const holdAgain: Perform<'hold-again'> = async (
  { hosts: clusterHosts },
  { clusterId, cluster },
  { hosts },
) => {
  for (const host of clusterHosts) await hosts.holdAgain(clusterId, textOf(keyOf(cluster)), host);
};
