import type { ConfigMap } from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import type { Manifest } from './manifests.ts';

export const NAMESPACE = 'matryoshka-system';

/** What differs from one installation to another. */
export interface Values {
  /** By the name that stands in the manifests: `matryoshka/operator`. */
  images: Readonly<Record<string, string>>;
  /** PEM of the authority: for Jobs, and for the webhooks' caller. */
  authority: string;
  /** Files of ConfigMap `matryoshka-site`: what hosts fetch, and the site's variables. */
  site: Readonly<Record<string, string>>;
  /** Namespaces in which clusters may be made. */
  servedNamespaces: readonly string[];
}

/** Every object of an installation but its keys, in the order in which they are applied. */
export const objectsOf = (manifests: readonly Manifest[], values: Values): KubeObject[] => [
  ...manifests.filter(isNamespace),
  ...values.servedNamespaces.map(namespaceOf),
  configMap('matryoshka-ca', { 'ca.crt': values.authority }),
  configMap('matryoshka-site', values.site),
  ...manifests.filter((manifest) => !isNamespace(manifest)).map((manifest) => filledIn(manifest, values)),
  ...values.servedNamespaces.flatMap(servedNamespace),
];

/** One that is served; where it is there, nothing of it changes. */
const namespaceOf = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
});

export const isNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace';

/** The manifest with images and the webhooks' authority; everything else stays as it was written. */
function filledIn(manifest: Manifest, { images, authority }: Values): KubeObject {
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
  const { apiVersion, kind, metadata, ...rest } = manifest;
  const filled = Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, replace(item, name)]));
  return { ...filled, apiVersion, kind, metadata };
}

const configMap = (name: string, data: Readonly<Record<string, string>>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: NAMESPACE, name },
  data: { ...data },
});

/** The rights of controller, server and webhook in a namespace in which clusters may be made. */
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
