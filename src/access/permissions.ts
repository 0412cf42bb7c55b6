import { CONFIG_MAPS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type Spec } from '#api/kubernetes-cluster.ts';
import type { PinnedFile } from '#api/pinned-file.ts';
import { canonicalJson } from '#base/canonical.ts';

/** A user as the API server describes him, with all that a SubjectAccessReview needs. */
export interface User {
  username: string;
  uid?: string | undefined;
  groups: string[];
  extra: Record<string, string[]>;
}

/** A request to be authorized; the fields of `resourceAttributes` in a SubjectAccessReview. */
export interface Permission {
  verb: 'get' | 'list' | 'create' | 'update' | 'delete' | 'use' | 'hook';
  group: string;
  resource: string;
  subresource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** Returns the permission for `verb` on clusters. */
export const onClusters = (
  verb: 'get' | 'list' | 'create' | 'update' | 'delete',
  namespace: string | undefined,
  name?: string | undefined,
): Permission => ({
  verb,
  group: KUBERNETES_CLUSTERS.group,
  resource: KUBERNETES_CLUSTERS.plural,
  namespace,
  name,
});

/**
 * A permission on the cluster's own SSH Secret, which the operator keeps: `create` gives it a key, `use` has the operator
 * reach hosts with it. Neither lets anybody read it.
 */
export const onCredentials = (verb: 'create' | 'use', namespace: string, name: string): Permission => ({
  ...onClusters('get', namespace, name),
  verb,
  subresource: 'credentials',
});

/** Getting a cluster's kubeconfig, which is everything inside it. */
export const onKubeconfig = (namespace: string, name: string): Permission => ({
  ...onClusters('get', namespace, name),
  subresource: 'kubeconfig',
});

/** A permission on a Secret. */
export const onSecrets = (verb: 'get', namespace: string, name: string): Permission => ({
  verb,
  group: '',
  resource: 'secrets',
  namespace,
  name,
});

/**
 * What having a spec's manifests applied takes: they rule the cluster as its kubeconfig does, and whoever gets the
 * cluster gets to read them. Nothing where there are none.
 */
export function onManifests(
  { addons }: Pick<Spec, 'addons'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const files = addons?.manifests ?? [];
  return files.length === 0 ? [] : [...reading(files, namespace), onKubeconfig(namespace, name)];
}

/**
 * What having the hooks of a spec run takes: they are root on the cluster's hosts, which no other right gives. Nothing
 * where there are none.
 */
export function onHooks(
  { hooks }: Pick<Spec, 'hooks'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const files = Object.values(hooks ?? {}).flatMap((list) => list ?? []);
  const running: Permission = { ...onClusters('update', namespace, name), verb: 'hook' };
  return files.length === 0 ? [] : [running, ...reading(files, namespace)];
}

/** What decides whose programs run in a cluster, and who may do what there. */
const ruling = ({ cluster: { imagesRegistry, kubeadm = {} } }: Pick<Spec, 'cluster'>) => {
  const { kubelet, patches, registryMirrors, proxy } = kubeadm;
  return { imagesRegistry, kubelet, patches, registryMirrors, proxy };
};

/**
 * What the edit of a spec takes that changes settings by which somebody could open the cluster to himself. Nothing where
 * these stay, or where there was no object: whoever makes one can read the key to its hosts, whoever edits one may only
 * have the right to use it.
 */
export function onSettings(
  before: Pick<Spec, 'cluster'> | undefined,
  after: Pick<Spec, 'cluster'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const isSame = !before || canonicalJson(ruling(before)) === canonicalJson(ruling(after));
  return isSame ? [] : [onKubeconfig(namespace, name)];
}

/** Reading the ConfigMaps that files come from. */
function reading(files: readonly Pick<PinnedFile, 'configMap'>[], namespace: string): Permission[] {
  const { group, plural: resource } = CONFIG_MAPS;
  const names = new Set(files.map(({ configMap }) => configMap));
  return [...names].map((name) => ({ verb: 'get', group, resource, namespace, name }));
}

/** Returns the message for a missing permission; it does not say whether the object exists. */
export function refusalOf({ username }: User, permission: Permission): string {
  const { verb, resource, subresource, group, namespace, name } = permission;
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  const what = group === '' ? path : `${path}.${group}`;
  const which = name === undefined ? what : `${what} "${name}"`;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace "${namespace}"`;
  return `user "${username}" may not ${verb} ${which} ${where}`;
}
