import type { ConfigMap } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Manifest } from './manifests.ts';

export const NAMESPACE = 'matryoshka-system';

/** Values that differ between installations. */
export interface Values {
  /** Images by their name in the manifests: `matryoshka/operator`. */
  images: Readonly<Record<string, string>>;
  /** PEM of the CA, for Jobs and for the API server's calls of webhooks. */
  authority: string;
  /** Files of ConfigMap `matryoshka-site`: the artifacts of hosts, and the site's variables. */
  site: Readonly<Record<string, string>>;
  /** Namespaces in which users may create clusters. */
  servedNamespaces: readonly string[];
  /** The node whose directory has the snapshots of clusters. */
  snapshotsNode: string;
}

const SNAPSHOTS_VOLUME = 'matryoshka-snapshots';

/** Returns every object of an installation except its keys, in the order in which they are applied. */
export const objectsOf = (manifests: readonly Manifest[], values: Values): KubeObject[] => [
  ...manifests.filter(isNamespace),
  ...values.servedNamespaces.map(namespaceOf),
  configMap('matryoshka-ca', { 'ca.crt': values.authority }),
  configMap('matryoshka-site', values.site),
  ...manifests.filter((manifest) => !isNamespace(manifest)).map((manifest) => filledIn(manifest, values)),
  ...values.servedNamespaces.flatMap(servedNamespace),
];

/** Returns a served namespace; an existing one does not change. */
const namespaceOf = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

export const isNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace';

/** Returns the manifest with images and the webhooks' CA; everything else stays as written. */
function filledIn(manifest: Manifest, { images, authority, snapshotsNode }: Values): KubeObject {
  const replace = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => replace(item, key));
    if (typeof value === 'object' && value !== null) {
      const copy = Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, replace(item, name)]),
      );
      return key === 'clientConfig' ? { ...copy, caBundle: Buffer.from(authority).toString('base64') } : copy;
    }
    return typeof value === 'string' && (key === 'image' || key === 'value')
      ? (images[value] ?? value)
      : value;
  };
  const { apiVersion, kind, metadata, ...rest } = onNode(manifest, snapshotsNode);
  const filled = Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, replace(item, name)]));
  return { ...filled, apiVersion, kind, metadata };
}

/** Returns the manifest; the volume of snapshots is on that node alone (kubernetes.io, Persistent Volumes, Node Affinity). */
function onNode(manifest: Manifest, node: string): Manifest {
  if (manifest.kind !== 'PersistentVolume' || manifest.metadata.name !== SNAPSHOTS_VOLUME) return manifest;
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [node] };
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } };
  const spec = typeof manifest['spec'] === 'object' ? manifest['spec'] : {};
  return { ...manifest, spec: { ...spec, nodeAffinity } };
}

const configMap = (name: string, data: Readonly<Record<string, string>>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: NAMESPACE, name },
  data: { ...data },
});

/** Returns the rights of controller, server and webhook in a served namespace. */
export function servedNamespace(namespace: string): KubeObject[] {
  const binding = (name: string, role: string, account: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: NAMESPACE }],
  });
  return [
    binding('matryoshka-controller', 'matryoshka-served-namespace', 'matryoshka-controller'),
    binding('matryoshka-server', 'matryoshka-server-served-namespace', 'matryoshka-server'),
    binding('matryoshka-webhook', 'matryoshka-webhook-served-namespace', 'matryoshka-webhook'),
  ];
}
