import { CONFIG_MAPS } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type Spec } from '#api/kubernetes-cluster.ts';
import type { PinnedFile } from '#api/pinned-file.ts';
import { canonicalJson } from '#base/canonical.ts';

/** A user as the API server reports it, with all fields that a SubjectAccessReview needs. */
export interface User {
  username: string;
  uid?: string | undefined;
  groups: string[];
  extra: Record<string, string[]>;
}

/** An action to be authorized; the fields of `resourceAttributes` in a SubjectAccessReview. */
export interface Permission {
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'delete' | 'use' | 'hook';
  group: string;
  resource: string;
  subresource?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}

/** Returns the permission for `verb` on clusters. */
export const onClusters = (
  verb: 'get' | 'list' | 'watch' | 'create' | 'update' | 'delete',
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
 * Returns a permission on the cluster's own SSH Secret, which the operator keeps. `create` stores a key, `use` lets the
 * operator reach hosts with it. Neither gives read access.
 */
export const onCredentials = (verb: 'create' | 'use', namespace: string, name: string): Permission => ({
  ...onClusters('get', namespace, name),
  verb,
  subresource: 'credentials',
});

/** Returns the permission to read a cluster's kubeconfig, which gives full access to the cluster. */
export const onKubeconfig = (namespace: string, name: string): Permission => ({
  ...onClusters('get', namespace, name),
  subresource: 'kubeconfig',
});

/**
 * Returns the permission to get a kubeconfig of one's own name for a cluster. It gives no right there: the cluster's RBAC
 * decides what that name may do.
 */
export const onUserKubeconfig = (namespace: string, name: string): Permission => ({
  ...onClusters('get', namespace, name),
  subresource: 'userkubeconfig',
});

/** Returns a permission on a Secret. */
export const onSecrets = (verb: 'get', namespace: string, name: string): Permission => ({
  verb,
  group: '',
  resource: 'secrets',
  namespace,
  name,
});

/**
 * Returns the permissions that the manifests of a spec require. Manifests give as much access to the cluster as its
 * kubeconfig, and every user with access to the cluster can read them. Empty if there are none.
 */
export function onManifests(
  { addons }: Pick<Spec, 'addons'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const files = addons?.manifests ?? [];
  return files.length === 0 ? [] : [...reading(files, namespace), onKubeconfig(namespace, name)];
}

/**
 * Returns the permissions that the hooks of a spec require. Hooks run as root on the cluster's hosts, which no other
 * permission allows. Empty if there are none.
 */
export function onHooks(
  { hooks }: Pick<Spec, 'hooks'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const files = Object.values(hooks ?? {}).flatMap((list) => list ?? []);
  const running: Permission = { ...onClusters('update', namespace, name), verb: 'hook' };
  return files.length === 0 ? [] : [running, ...reading(files, namespace)];
}

/** Returns the settings that decide which programs run in a cluster, who has which access there, and what is logged. */
const ruling = ({ cluster: { imagesRegistry, kubeadm = {} } }: Pick<Spec, 'cluster'>) => {
  const { kubelet, patches, registryMirrors, proxy, audit } = kubeadm;
  return { imagesRegistry, kubelet, patches, registryMirrors, proxy, audit };
};

/**
 * Returns the permissions that an edit of such settings requires, because it could give its user access to the cluster.
 * Empty if they do not change, or if there was no object: a user who creates one can read the key of its hosts, while a user
 * who edits one may only be allowed to use it.
 */
export function onSettings(
  before: Pick<Spec, 'cluster'> | undefined,
  after: Pick<Spec, 'cluster'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] {
  const isSame = !before || canonicalJson(ruling(before)) === canonicalJson(ruling(after));
  return isSame ? [] : [onKubeconfig(namespace, name)];
}

/**
 * Returns the permissions that another Secret for snapshots requires: its key decrypts the authorities of the cluster. Empty
 * if it stays, or if there was no object, as for settings.
 */
export const onSnapshots = (
  before: Pick<Spec, 'etcdSnapshots'> | undefined,
  after: Pick<Spec, 'etcdSnapshots'>,
  { namespace, name }: { namespace: string; name: string },
): Permission[] =>
  !before || before.etcdSnapshots?.secret === after.etcdSnapshots?.secret
    ? []
    : [onKubeconfig(namespace, name)];

/** Returns the permissions to read the ConfigMaps of files. */
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
