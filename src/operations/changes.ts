import type { Spec } from '#api/kubernetes-cluster.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import { type Claimed, isMaster, type Member, membersOf } from './members.ts';
import { comparable } from './spec-hash.ts';

/** How two specs differ: hosts that came and went as workers, and every other field that changed. */
export interface Changes {
  added: Member[];
  removed: Member[];
  /** Paths of changed fields other than `nodeList`'s members. */
  others: string[];
}

const clusterOf = (spec: Spec): Record<string, unknown> => {
  const { cluster } = comparable(spec);
  return typeof cluster === 'object' && cluster !== null ? { ...cluster } : {};
};

export function changesBetween(applied: Spec, wanted: Spec): Changes {
  const before = membersOf({ nodeList: applied.cluster.nodeList });
  const after = membersOf({ nodeList: wanted.cluster.nodeList });
  const [old, next] = [clusterOf(applied), clusterOf(wanted)];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(next)])].filter(
    (field) => field !== 'nodeList',
  );
  // An absent field means "as it is", so only what is said can differ.
  const others = fields
    .filter((field) => next[field] !== undefined && canonicalJson(old[field]) !== canonicalJson(next[field]))
    .map((field) => `spec.cluster.${field}`);
  for (const [ip, member] of after) {
    const known = before.get(ip);
    if (known && known.name !== member.name) others.push(`spec.cluster.nodeList[${ip}].name`);
    else if (
      known &&
      canonicalJson([known.labels, known.taints]) !== canonicalJson([member.labels, member.taints])
    ) {
      others.push(`spec.cluster.nodeList[${ip}]`);
    }
  }
  const network = wanted.addons?.network;
  if (network !== undefined && network !== (applied.addons?.network ?? 'flannel'))
    others.push('spec.addons.network');
  return {
    added: [...after.values()].filter(({ ip }) => !before.has(ip)),
    removed: [...before.values()].filter(({ ip }) => !after.has(ip)),
    others,
  };
}

/** The refusals that both scale operations share: only the worker list may differ. */
export function onlyWorkersChange(changes: Changes): Problem[] {
  return changes.others.map((field) => ({
    field,
    reason: 'cannot change in a scale operation; only nodeList can',
  }));
}

/** Control plane hosts that are part of the cluster. */
export const joinedMasters = (claimed: readonly Claimed[]): Member[] =>
  claimed.filter(({ state, host }) => state === 'joined' && isMaster(host)).map(({ host }) => host);

export const notCreatedYet: Problem = {
  field: 'metadata.annotations[app.kubernetes.io/operation]',
  reason: 'the cluster was not created yet; ask for "creating" first',
};
