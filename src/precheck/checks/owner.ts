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
    if (found && !found.released) {
      const says = `HostConflict: /etc/matryoshka/owner.json says that it belongs to cluster ${found.clusterId}`;
      return error(
        host.reclaim === undefined
          ? `${says}; to wipe that, set "reclaim: ${found.clusterId}" in the host's entry`
          : `${says}, not to ${host.reclaim}, which "reclaim" names`,
      );
    }
    if (!joins(context) || host.reclaim === undefined) return fine;
    const says = found ? `was released by cluster ${found.clusterId}` : 'has no owner file';
    return warning(`"reclaim: ${host.reclaim}" has no effect: the host ${says}, so nothing on it is wiped`);
  },
};
