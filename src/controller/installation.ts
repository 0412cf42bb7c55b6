import type { KubeObject } from '#api/meta.ts';
import type { JsonSchema } from '#api/structural-schema.ts';
import type { Neighbour, Right } from './neighbours.ts';

/** All that a neighbour needs in a cluster, a namespace of its own included; to remove it is to delete these. */

const RBAC = 'rbac.authorization.k8s.io';
const PORT = 8081;

/** One of them: metadata, and the fields of its kind. */
type Installed = KubeObject & JsonSchema;

export const namespaceOf = ({ name }: Pick<Neighbour, 'name'>): string => `matryoshka-${name}`;

/** Elected by a Lease of its namespace; Events go wherever the object is that they tell of. */
const ELECTION: Right = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['get', 'create', 'update', 'patch'],
};
const TELLING: Right = { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] };

/** Probes of Kubernetes; a busy machine answers late: only what is silent for minutes is restarted. */
const probe = (path: string, periodSeconds: number, timeoutSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: 'probes' },
  ...{ periodSeconds, timeoutSeconds, failureThreshold },
});

const deployment = (neighbour: Neighbour): Installed => {
  const namespace = namespaceOf(neighbour);
  const labels = { app: namespace };
  const field = (path: string) => ({ valueFrom: { fieldRef: { fieldPath: path } } });
  const container = {
    name: 'controller',
    image: 'matryoshka/operator',
    imagePullPolicy: 'IfNotPresent',
    args: ['controller', `--controllers=${neighbour.name}`],
    env: [
      { name: 'MATRYOSHKA_IDENTITY', ...field('metadata.name') },
      { name: 'MATRYOSHKA_NAMESPACE', ...field('metadata.namespace') },
    ],
    ports: [{ name: 'probes', containerPort: PORT }],
    startupProbe: probe('/livez', 2, 10, 90),
    readinessProbe: probe('/readyz', 2, 10, 15),
    livenessProbe: probe('/livez', 20, 15, 6),
    resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '512Mi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
  const pod = {
    serviceAccountName: namespace,
    // Links to Services would come as MATRYOSHKA_…_PORT, which are names of settings of ours.
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: namespace, namespace, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: pod },
    },
  };
};

/** In the order in which they are applied. */
export function installationOf(neighbour: Neighbour): JsonSchema[] {
  const name = namespaceOf(neighbour);
  const subjects = [{ kind: 'ServiceAccount', name, namespace: name }];
  const role = (kind: 'Role' | 'ClusterRole', rules: readonly Right[]): Installed[] => {
    const metadata = kind === 'Role' ? { name, namespace: name } : { name };
    const apiVersion = `${RBAC}/v1`;
    return [
      { apiVersion, kind, metadata, rules },
      { apiVersion, kind: `${kind}Binding`, metadata, roleRef: { apiGroup: RBAC, kind, name }, subjects },
    ];
  };
  const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: restricted } },
    ...neighbour.crds.map((crd) => crd()),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: name } },
    ...role('ClusterRole', [...neighbour.rights, TELLING]),
    ...role('Role', [ELECTION]),
    deployment(neighbour),
  ];
}
