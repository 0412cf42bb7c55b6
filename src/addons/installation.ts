import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import type { Addon, AddonServer, PolicyRule } from './addon.ts';
import { policyOf } from './write-limits.ts';

/** Builds all objects that an add-on needs in a cluster, including its namespace. Deleting them removes the add-on. */

const RBAC = 'rbac.authorization.k8s.io';
const PORT = 8081;

/** Installed object: metadata, and the fields of its kind. */
type Installed = KubeObject & JsonSchema;

export const namespaceOf = ({ name }: Pick<Addon, 'name'>): string => `matryoshka-${name}`;
export const serverNameOf = (addon: Pick<Addon, 'name'>): string => `${namespaceOf(addon)}-server`;

/**
 * Rights for leader election by a Lease in the add-on's namespace. Events need a ClusterRole, because they are in the
 * namespace of the object.
 */
const ELECTION: PolicyRule = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['get', 'create', 'update', 'patch'],
};
const EVENTS: PolicyRule = { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] };

/** Returns a probe of Kubernetes. A busy machine answers late, so only a program that is silent for minutes is restarted. */
const probe = (path: string, periodSeconds: number, timeoutSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: 'probes' },
  ...{ periodSeconds, timeoutSeconds, failureThreshold },
});

const field = (path: string) => ({ valueFrom: { fieldRef: { fieldPath: path } } });

/** Program of an add-on. */
interface Program {
  /** Name of Deployment, ServiceAccount, ClusterRole and, for a server, Service. */
  name: string;
  namespace: string;
  container: { name: string; args: readonly string[]; env: readonly object[] };
  server?: AddonServer;
}

const deployment = ({ name, namespace, container: own, server }: Program): Installed => {
  const labels = { app: name };
  const hasCertificate = server?.hasCertificate ?? false;
  const scratch = server?.scratch;
  const mounts = [
    ...(hasCertificate ? [{ name: 'tls', mountPath: '/etc/matryoshka/tls', readOnly: true }] : []),
    ...(scratch ? [{ name: 'scratch', mountPath: scratch }] : []),
  ];
  const volumes = [
    ...(hasCertificate ? [{ name: 'tls', secret: { secretName: `${name}-tls` } }] : []),
    ...(scratch ? [{ name: 'scratch', emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } }] : []),
  ];
  const outside = server?.outside;
  const container = {
    name: own.name,
    image: 'matryoshka/operator',
    imagePullPolicy: 'IfNotPresent',
    args: own.args,
    env: own.env,
    ports: [
      { name: 'probes', containerPort: PORT },
      ...(server?.ports ?? []).map(({ name, port, target }) => ({ name, containerPort: target ?? port })),
    ],
    startupProbe: probe('/livez', 2, 10, 90),
    readinessProbe: probe('/readyz', 2, 10, 15),
    livenessProbe: probe('/livez', 20, 15, 6),
    resources: {
      requests: { cpu: '50m', memory: '96Mi' },
      limits: { memory: outside?.memoryLimit ?? '512Mi' },
    },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
  };
  const pod = {
    serviceAccountName: name,
    // Service links would set variables MATRYOSHKA_…_PORT, which are names of our settings.
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    ...(outside ? { terminationGracePeriodSeconds: outside.graceSeconds, ...spread(labels) } : {}),
    ...(volumes.length > 0 ? { volumes } : {}),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas: outside?.replicas ?? 1,
      // A serving pod is replaced before it is removed.
      ...(outside ? { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } } : {}),
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
    },
  };
};

/** Spreads replicas over nodes, if there are several. */
const spread = (matchLabels: object) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels },
    },
  ],
});

/** Builds the account of a program, and its rules. */
function account(
  name: string,
  namespace: string,
  rules: readonly PolicyRule[],
  own: readonly PolicyRule[] = [],
) {
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const role = (kind: 'Role' | 'ClusterRole', rules: readonly PolicyRule[]): Installed[] => {
    const metadata = kind === 'Role' ? { name, namespace } : { name };
    const apiVersion = `${RBAC}/v1`;
    return [
      { apiVersion, kind, metadata, rules },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef: { apiGroup: RBAC, kind, name }, subjects },
    ];
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    ...role('ClusterRole', rules),
    ...(own.length > 0 ? role('Role', own) : []),
  ];
}

function serverOf(addon: Addon, server: AddonServer): Installed[] {
  const [name, namespace] = [serverNameOf(addon), namespaceOf(addon)];
  const { args, ports, rules, outside } = server;
  const selector = { app: name };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: {
      ...(outside ? { type: 'LoadBalancer' } : {}),
      selector,
      ports: ports.map(({ name, port }) => ({ name, port, targetPort: name })),
    },
  };
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace },
    spec: { maxUnavailable: 1, selector: { matchLabels: selector } },
  };
  const container = { name: 'server', args, env: [] };
  return [
    ...account(name, namespace, rules),
    service,
    ...(outside ? [budget] : []),
    deployment({ name, namespace, container, server }),
  ];
}

/** Returns the objects in the order in which they are applied. */
export function installationOf(addon: Addon): JsonSchema[] {
  const name = namespaceOf(addon);
  const container = {
    name: 'controller',
    args: ['controller', `--controllers=${addon.name}`],
    env: [
      { name: 'MATRYOSHKA_IDENTITY', ...field('metadata.name') },
      { name: 'MATRYOSHKA_NAMESPACE', ...field('metadata.namespace') },
    ],
  };
  const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: restricted } },
    ...addon.crds.map((crd) => crd()),
    // The limits come before the account that they restrict.
    ...(addon.writeLimits ?? []).flatMap((limit) => policyOf(limit, { name, namespace: name })),
    ...(addon.others ?? []),
    ...account(name, name, [...addon.rules, EVENTS], [ELECTION]),
    deployment({ name, namespace: name, container }),
    ...(addon.server ? serverOf(addon, addon.server) : []),
  ];
}
