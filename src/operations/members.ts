import { canonicalIp, type HostEntry, LISTS, type ListName, nodeNameOf } from '#api/host.ts';
import type { ClusterSpec } from '#api/kubernetes-cluster.ts';

/** One host with everything that the lists say of it; `ip` is canonical, `name` is the node name. */
export interface Member extends HostEntry {
  name: string;
  lists: ListName[];
}

/** A host that holds the cluster's claim. */
export interface Claimed {
  host: Member;
  /** `held`: taken, not yet part of the cluster; `joined`: part of it; `unclean`: could not be reset. */
  state: 'held' | 'joined' | 'unclean';
  /** The cluster whose remains the host may still carry. */
  reclaims?: string;
}

/** The lists of a spec as one map from canonical IP; a host that stands in several lists is one member. */
export function membersOf(cluster: Pick<ClusterSpec, ListName>): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const list of LISTS) {
    for (const entry of cluster[list] ?? []) {
      const ip = canonicalIp(entry.ip) ?? entry.ip;
      const known = members.get(ip);
      members.set(ip, {
        ...(known ?? {}),
        ...entry,
        ip,
        name: known?.name ?? nodeNameOf(entry),
        lists: [...(known?.lists ?? []), list],
      });
    }
  }
  return members;
}

export const isMaster = (member: Member): boolean => member.lists.includes('masterList');

/** What an operation does to hosts. */
export interface HostPlan {
  /** Set up and joined by this operation. */
  joining: Member[];
  /** Drained where that makes sense, removed and reset. */
  leaving: Member[];
  /** Control plane hosts that stay and that the operation acts through. */
  through: Member[];
}
