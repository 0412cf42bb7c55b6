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

/** The owner of a host whose owner file says nothing that we can read. */
export const UNREADABLE = 'unreadable';

/** The owner that the host's owner file names; undefined when there is none. */
export function ownerOf(said: Said): Owner | undefined {
  const text = said.text('owner');
  if (text === '') return undefined;
  try {
    const { clusterId, released = false, epoch } = ownerSchema.parse(JSON.parse(text));
    return { clusterId, released, ...(epoch ? { sequence: epoch.sequence } : {}) };
  } catch {
    // Something stands there that is not ours to read: nobody may take the host until a person has looked.
    return { clusterId: UNREADABLE, released: false };
  }
}

/** Whether the host was taken by this very cluster before, or by the one that `reclaim` names, and not released. */
export const isOpen = ({ host }: CheckContext): boolean => {
  const found = ownerOf(host.said);
  return (
    found !== undefined &&
    !found.released &&
    (found.clusterId === host.clusterId || found.clusterId === host.reclaim)
  );
};

/**
 * Why the host may not be taken. The id of a cluster is what opens its hosts to `reclaim`: it is told for clusters of the
 * same namespace alone.
 */
function refusalOf({ host }: CheckContext, clusterId: string): string {
  if (clusterId === UNREADABLE)
    return 'HostConflict: /etc/matryoshka/owner.json cannot be read, so the owner of this host is unknown; see docs/tasks/damaged-owner-file.md';
  const says = 'HostConflict: /etc/matryoshka/owner.json says that it belongs to';
  const named = host.reclaim === undefined ? '' : `, not to ${host.reclaim}, which "reclaim" names`;
  if (!host.ownClusters?.includes(clusterId))
    return `${says} another cluster${named}; that cluster is not of this namespace: choose another host, or have the administrator of that cluster release it`;
  return named === ''
    ? `${says} cluster ${clusterId}; to wipe that, set "reclaim: ${clusterId}" in the host's entry`
    : `${says} cluster ${clusterId}${named}`;
}

/** Who the host belongs to, in its own words. */
export const owner: Check = {
  name: 'owner',
  script: () => `[ -f /etc/matryoshka/owner.json ] && say owner "$(tr -d '\\n' </etc/matryoshka/owner.json)"`,
  good: '',
  check(context) {
    const { host } = context;
    // A host that leaves and is another's is left alone, not complained of.
    if (host.role === 'leaving' || isOpen(context)) return fine;
    const found = ownerOf(host.said);
    if (found && !found.released) return error(refusalOf(context, found.clusterId));
    if (!joins(context) || host.reclaim === undefined) return fine;
    const says = found ? 'was released by its cluster' : 'has no owner file';
    return warning(`"reclaim: ${host.reclaim}" has no effect: the host ${says}, so nothing on it is wiped`);
  },
};
