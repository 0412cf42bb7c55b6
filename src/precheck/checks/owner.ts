import { z } from 'zod';
import { type Check, type CheckContext, error, fine, joins, warning } from '../check.ts';
import type { Said } from '../said.ts';

export interface Owner {
  clusterId: string;
  released: boolean;
  /** Sequence of the last operation that took the host. */
  sequence?: number;
}

const ownerSchema = z.object({
  clusterId: z.string(),
  released: z.boolean().optional(),
  epoch: z.object({ sequence: z.int().min(0) }).optional(),
});

/** Owner of a host whose owner file is unreadable. */
export const UNREADABLE = 'unreadable';

/** Returns the owner in the host's owner file; undefined if there is none. */
export function ownerOf(said: Said): Owner | undefined {
  const text = said.text('owner');
  if (text === '') return undefined;
  try {
    const { clusterId, released = false, epoch } = ownerSchema.parse(JSON.parse(text));
    return { clusterId, released, ...(epoch ? { sequence: epoch.sequence } : {}) };
  } catch {
    // The file has unknown content, so no cluster may take the host until a user has checked it.
    return { clusterId: UNREADABLE, released: false };
  }
}

/** Whether this cluster, or the one that `reclaim` names, took the host before and did not release it. */
export const isOpen = ({ host }: CheckContext): boolean => {
  const found = ownerOf(host.said);
  return (
    found !== undefined &&
    !found.released &&
    (found.clusterId === host.clusterId || found.clusterId === host.reclaim)
  );
};

/**
 * Returns the reason why the host may not be taken. The id of a cluster opens its hosts to `reclaim`, so the message has it
 * only for clusters of the same namespace.
 */
function refusalOf({ host }: CheckContext, clusterId: string): string {
  if (clusterId === UNREADABLE)
    return 'HostConflict: /etc/matryoshka/owner.json cannot be read, so the owner of this host is unknown; see docs/tasks/damaged-owner-file.md';
  const says = 'HostConflict: /etc/matryoshka/owner.json says that it belongs to';
  const named = host.reclaim === undefined ? '' : `, not to ${host.reclaim}, which "reclaim" names`;
  if (!host.ownClusters?.includes(clusterId))
    return `${says} another cluster${named}; that cluster is not of this namespace: choose another host, or have the administrator of that cluster release it`;
  return named === ''
    ? `${says} cluster ${clusterId}; name another host, or, if that cluster is gone, set "reclaim: ${clusterId}" in the host's entry to wipe the host`
    : `${says} cluster ${clusterId}${named}`;
}

/** Checks the owner of the host by its owner file. */
export const owner: Check = {
  name: 'owner',
  script: () => `[ -f /etc/matryoshka/owner.json ] && say owner "$(tr -d '\\n' </etc/matryoshka/owner.json)"`,
  good: '',
  check(context) {
    const { host } = context;
    // A leaving host with another owner is left alone, which is no problem.
    if (host.role === 'leaving' || isOpen(context)) return fine;
    const found = ownerOf(host.said);
    if (found && !found.released) return error(refusalOf(context, found.clusterId));
    if (!joins(context) || host.reclaim === undefined) return fine;
    const says = found ? 'was released by its cluster' : 'has no owner file';
    return warning(`"reclaim: ${host.reclaim}" has no effect: the host ${says}, so nothing on it is wiped`);
  },
};
