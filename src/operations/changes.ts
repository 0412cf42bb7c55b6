import { clusterHostsOf, DUTIES, type Duty, hasEtcd, isMaster } from '#api/cluster-host.ts';
import { LISTS, type ListName } from '#api/host.ts';
import { type Kubeadm, kubeadmSchema } from '#api/kubeadm.ts';
import { DEFAULTS, type Spec } from '#api/kubernetes-cluster.ts';
import type { Patch } from '#api/patches.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import { comparable } from './spec-hash.ts';

/** Kinds of edits to a cluster that exists; an operation lists those that it carries out. */
export type ChangeKind =
  | 'workers added'
  | 'workers removed'
  | 'control planes added'
  | 'control planes removed'
  | 'etcd members added'
  | 'etcd members removed'
  /** An etcd member beside a control plane that stays is added or removed. */
  | 'etcd moved'
  | 'labels'
  | 'version'
  /** Settings of components in `spec.cluster.kubeadm`, and whether NetworkPolicies are enforced. */
  | 'settings'
  | 'other';

export interface Change {
  kind: ChangeKind;
  /** Path of the changed field. */
  field: string;
  /** The host of the change, if it concerns one. */
  ip?: string;
}

const clusterOf = (spec: Spec): Record<string, unknown> => {
  const { cluster } = comparable(spec);
  return typeof cluster === 'object' && cluster !== null ? { ...cluster } : {};
};

const LIST_OF: Readonly<Record<Duty, ListName>> = {
  'control-plane': 'masterList',
  etcd: 'etcdList',
  worker: 'nodeList',
};

const CALLED = { 'control-plane': 'control planes', etcd: 'etcd members', worker: 'workers' } as const;

/**
 * Returns the change of a host that was added, was removed, or has other duties. `goesBack`: etcd moves from external hosts
 * back to the control planes, so API servers must be pointed at those members before the external hosts leave.
 */
function dutyChanges(
  ip: string,
  before: readonly Duty[],
  after: readonly Duty[],
  goesBack: boolean,
): Change[] {
  const differing = DUTIES.filter((duty) => before.includes(duty) !== after.includes(duty));
  const [first] = differing;
  if (!first) return [];
  const field = `spec.cluster.${LIST_OF[first]}`;
  // The first duty of an added or removed host decides: a stacked etcd member goes with its control plane.
  if (before.length === 0) return [{ kind: `${CALLED[first]} added`, field, ip }];
  if (after.length === 0)
    return [{ kind: goesBack && first === 'etcd' ? 'etcd moved' : `${CALLED[first]} removed`, field, ip }];
  const stays = before.includes('control-plane') && after.includes('control-plane');
  if (stays && differing.length === 1 && first === 'etcd') return [{ kind: 'etcd moved', field, ip }];
  return [{ kind: 'other', field, ip }];
}

/** Settings that no operation changes: data in etcd and manifests of add-ons depend on them. */
const FIXED_SETTINGS: readonly (keyof Kubeadm)[] = ['encryptionAtRest'];
const FIXED_PATCHES: readonly Patch['target'][] = ['etcd', 'corednsdeployment'];

/** Lists the differences of `spec.cluster.kubeadm`. */
function settingChanges(before: Kubeadm = {}, after: Kubeadm): Change[] {
  // A setting that is off is the same as one that is not there.
  const differ = (of: (kubeadm: Kubeadm) => unknown): boolean =>
    canonicalJson([of(before) || null]) !== canonicalJson([of(after) || null]);
  const fixedPatches = ({ patches = [] }: Kubeadm) =>
    patches.filter(({ target }) => FIXED_PATCHES.includes(target));
  const isFixed = (field: keyof Kubeadm): boolean =>
    FIXED_SETTINGS.includes(field) || (field === 'patches' && differ(fixedPatches));
  return kubeadmSchema
    .keyof()
    .options.filter((field) => differ((kubeadm) => kubeadm[field]))
    .map((field) => ({
      kind: isFixed(field) ? 'other' : 'settings',
      field: `spec.cluster.kubeadm.${field}`,
    }));
}

/** Lists the differences of two specs. */
export function changesBetween(applied: Spec, wanted: Spec): Change[] {
  const [old, next] = [clusterOf(applied), clusterOf(wanted)];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(next)])].filter(
    (field) => !LISTS.some((list) => list === field),
  );
  // An absent field means "unchanged", so only fields that are present can differ.
  const changes: Change[] = fields
    .filter((field) => field !== 'kubeadm')
    .filter((field) => next[field] !== undefined && canonicalJson(old[field]) !== canonicalJson(next[field]))
    .map((field) => ({
      kind: field === 'kubeVersion' ? 'version' : 'other',
      field: `spec.cluster.${field}`,
    }));
  if (wanted.cluster.kubeadm)
    changes.push(...settingChanges(applied.cluster.kubeadm, wanted.cluster.kubeadm));
  const [before, after] = [clusterHostsOf(applied.cluster), clusterHostsOf(wanted.cluster)];
  const goesBack = ![...after.values()].some((host) => hasEtcd(host) && !isMaster(host));
  for (const ip of new Set([...before.keys(), ...after.keys()])) {
    const [known, host] = [before.get(ip), after.get(ip)];
    changes.push(...dutyChanges(ip, known?.duties ?? [], host?.duties ?? [], goesBack));
    if (!known || !host) continue;
    const field = `spec.cluster[${ip}]`;
    if (known.name !== host.name) changes.push({ kind: 'other', field: `${field}.name`, ip });
    const metadata = ({ labels = {}, taints = [] }: typeof host) => canonicalJson([labels, taints]);
    if (metadata(known) !== metadata(host)) changes.push({ kind: 'labels', field: `${field}.labels`, ip });
  }
  const [network, presentNetwork] = [wanted.addons?.network, applied.addons?.network ?? DEFAULTS.network];
  if (network !== undefined && network !== presentNetwork) {
    const isSetting = [network, presentNetwork].every((one) => one !== 'none');
    changes.push({ kind: isSetting ? 'settings' : 'other', field: 'spec.addons.network' });
  }
  const manifests = wanted.addons?.manifests;
  if (manifests && canonicalJson(manifests) !== canonicalJson(applied.addons?.manifests ?? []))
    changes.push({ kind: 'other', field: 'spec.addons.manifests' });
  return changes;
}

/** Returns a change for messages: the field, and the host if it concerns one. */
export const textOfChange = ({ field, ip }: Change): string =>
  ip === undefined || field.includes(ip) ? field : `${field} (${ip})`;

export const notCreatedYet: Problem = {
  field: 'metadata.annotations[app.kubernetes.io/operation]',
  reason: 'the cluster was not created yet; ask for "creating" first',
};

/** For a change of the kind `other` on a host. */
const OTHER_HOST =
  'changes its name or duties, which no operation does; set that back, or remove the host and add it again';
const added = (where: string) => `is added; ask for "${where}" to add it, or take it out of the list`;
const removed = 'is not in the list; ask for "scaling-down" to remove it, or put it back';
/** Why an operation refuses a change that another one carries out. */
const BUT: Readonly<Record<ChangeKind, string>> = {
  'workers added': added('scaling-up'),
  'control planes added': added('scaling-up'),
  'etcd members added': added('scaling-up'),
  'workers removed': removed,
  'control planes removed': removed,
  'etcd members removed': removed,
  'etcd moved': 'gets or loses its etcd member; ask for "moving-etcd" to have that, or set the list back',
  labels: 'has other labels or taints; ask for "relabeling" to change those',
  settings: 'is another setting; ask for "reconfiguring" to change it, or set it back',
  version: 'is another version; ask for "updating" to upgrade, or set it back',
  other: 'cannot be changed by an operation that is offered; set it back',
};

/** Refuses changes that an operation does not carry out; `but` gives reasons of its own by kind of change. */
export function onlyChanges(
  kinds: readonly ChangeKind[],
  { applied, spec }: { applied: Spec | undefined; spec: Spec },
  but: Partial<Record<ChangeKind, string>> = {},
): Problem[] {
  if (!applied) return [notCreatedYet];
  return changesBetween(applied, spec)
    .filter(({ kind }) => !kinds.includes(kind))
    .map(({ kind, field, ip }) => ({
      field,
      ...(ip === undefined ? {} : { value: ip }),
      reason: `${ip === undefined ? '' : `host ${ip} `}${but[kind] ?? (kind === 'other' && ip !== undefined ? OTHER_HOST : BUT[kind])}`,
    }));
}
