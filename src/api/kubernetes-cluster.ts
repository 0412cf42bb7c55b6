/** Kinds of the API as zod schemas, with their names, conditions and CustomResourceDefinitions. No I/O. */

import { z } from 'zod';
import { cidrsSchema } from './cidr.ts';
import { addonsSchema } from './cluster-addons.ts';
import type { Condition } from './conditions.ts';
import { drainSchema } from './drain.ts';
import { etcdSnapshotsSchema, type StoredSnapshot } from './etcd-snapshots.ts';
import { hooksSchema } from './hooks.ts';
import { hostSchema } from './host.ts';
import { kubeadmSchema } from './kubeadm.ts';
import type { KubeObject, Resource } from './meta.ts';
import { GROUP } from './names.ts';
import type { OperationName, Phase, Result } from './operation-values.ts';
import type { PlanStatus } from './plan-status.ts';
import { policySchema } from './policy.ts';
import { upgradeSchema } from './upgrade.ts';

export const KUBERNETES_CLUSTERS: Resource = {
  group: GROUP,
  version: 'v1',
  kind: 'KubernetesCluster',
  plural: 'kubernetesclusters',
  namespaced: true,
};

/** Fields of `spec.cluster` that never change once set or left out; CEL rules in the CRD enforce that. */
export const IMMUTABLE = ['podCIDR', 'serviceCIDR', 'clusterType', 'deployMode', 'region'] as const;

export const DEFAULTS = {
  clusterType: 'kubernetes',
  deployMode: 'container',
  podCIDR: '10.244.0.0/16',
  serviceCIDR: '10.96.0.0/16',
  timeoutMinutes: 60,
  history: 10,
  network: 'flannel',
} as const;

/** Most operations whose records and logs are kept. */
export const MAX_HISTORY = 100;

/** The longest name of a cluster: names of Jobs, Secrets and hosts contain it. */
export const MAX_NAME = 40;

const hostList = (description: string) =>
  z
    .array(hostSchema)
    .max(1000)
    .meta({ description, listMapKeys: ['ip'] });

const clusterTypeSchema = z.enum(['kubernetes', 'k3s', 'kubeedge', 'kind']);
const deployModeSchema = z.enum(['container', 'binary']);
export const timeoutSchema = z
  .string()
  .max(6)
  .regex(/^[1-9][0-9]*$/, { error: 'is not a number of minutes; write it like "60"' });
export const versionSchema = z
  .string()
  .max(32)
  .regex(/^v[0-9]+\.[0-9]+\.[0-9]+$/, { error: 'is not a Kubernetes version; write it like v1.34.4' });
export const regionSchema = z
  .string()
  .max(63)
  .regex(/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/, {
    error: 'is not a region name; use letters, digits, "-", "_" and "."',
  });
export const registrySchema = z
  .string()
  .max(255)
  .regex(/^[a-z0-9]([a-z0-9.:/_-]*[a-z0-9])?$/, {
    error: 'is not a registry; write it like registry.example.com/k8s',
  });
export const endpointSchema = z
  .string()
  .max(253)
  .regex(/^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$/, { error: 'is neither a host name nor an IP address' });

const authConfigSchema = z
  .object({
    username: z.string().max(32).optional().meta({ description: 'Has no effect.' }),
    password: z.string().max(256).optional().meta({ description: 'Refused.' }),
    privateSSHKey: z.string().max(16_384).optional().meta({ description: 'Refused.' }),
  })
  .meta({ description: 'Refused in applied objects; name a Secret in credentialsSecret instead.' });

export const clusterSchema = z.object({
  timeout_mins: timeoutSchema
    .optional()
    .meta({ description: 'Deadline of one operation in minutes; default 60.' }),
  clusterType: clusterTypeSchema.optional().meta({
    description: 'Only "kubernetes" is offered. It never changes.',
    crdDefault: DEFAULTS.clusterType,
  }),
  deployMode: deployModeSchema.optional().meta({
    description: 'Only "container" is offered. It never changes.',
    crdDefault: DEFAULTS.deployMode,
  }),
  podCIDR: cidrsSchema.optional().meta({
    description:
      'Pod network; each node takes a /24 of it. Or an IPv4 and an IPv6 network, separated by a comma; each node takes a /64 of the latter. It never changes.',
    crdDefault: DEFAULTS.podCIDR,
  }),
  serviceCIDR: cidrsSchema.optional().meta({
    description: 'Service network, or one of each family, as in podCIDR. It never changes.',
    crdDefault: DEFAULTS.serviceCIDR,
  }),
  masterList: hostList('Control plane hosts').optional(),
  nodeList: hostList('Worker hosts').optional(),
  etcdList: hostList(
    'Hosts of external etcd; default, or equal to masterList: etcd runs on the control planes',
  ).optional(),
  externalLoadBalancer: endpointSchema
    .optional()
    .meta({ description: 'Host name or IP address of a load balancer in front of the API servers' }),
  region: regionSchema
    .optional()
    .meta({ description: 'Region in the paths of the REST API; default "default". It never changes.' }),
  kubeVersion: versionSchema
    .optional()
    .meta({ description: 'Kubernetes version; default: the newest that the installation offers.' }),
  imagesRegistry: registrySchema
    .optional()
    .meta({ description: 'Registry that has all images directly below this path.' }),
  kubeadm: kubeadmSchema
    .optional()
    .meta({ description: 'Settings of components. Operation reconfigure changes them.' }),
  drain: drainSchema.optional().meta({
    description:
      'How nodes are drained before they leave or are upgraded. An edit of this field alone starts no operation.',
  }),
  upgrade: upgradeSchema.optional().meta({
    description: 'How workers are upgraded. An edit of this field alone starts no operation.',
  }),
  authConfig: authConfigSchema.optional(),
  credentialsSecret: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not a name of a Secret' })
    .optional()
    .meta({
      description:
        'Secret of this namespace with username, ssh-privatekey, password or both, and known_hosts',
    }),
});

export const specSchema = z.object({
  paused: z
    .boolean()
    .optional()
    .meta({ description: 'Holds new operations and attempts; a running attempt finishes.' }),
  cluster: clusterSchema.meta({ description: 'The cluster, its hosts and their credentials.' }),
  addons: addonsSchema
    .optional()
    .meta({ description: 'Software that the creation installs in the cluster.' }),
  etcdSnapshots: etcdSnapshotsSchema.optional().meta({
    description:
      'Where snapshots of etcd are stored, when they are taken, and which are kept. An edit starts no operation.',
  }),
  history: z
    .int()
    .min(1)
    .max(MAX_HISTORY)
    .optional()
    .meta({ description: 'Number of ended operations whose records and logs are kept; default 10.' }),
  hooks: hooksSchema.optional().meta({
    description:
      'Your own playbooks before and after operations, if the installation allows hooks. An edit starts no operation.',
  }),
  policy: policySchema.optional().meta({
    description: 'Automatic replacement of control planes that stay away; default: none.',
  }),
});

export type ClusterSpec = z.infer<typeof clusterSchema>;
export type Spec = z.infer<typeof specSchema>;

/** An accepted request, as `status.requests` remembers it. */
export interface RequestRecord {
  word: string;
  requestId: string;
  specHash: string;
  sequence: number;
  /** Absent while the operation runs. */
  result?: Result;
  /** Number of operations that keep their records and logs at its end, if the spec sets it. */
  history?: number;
}

/** An operation in status. `step` says whether an attempt was seen: with `starting` its Job may still be started. */
export interface OperationStatus {
  id: string;
  name: OperationName;
  sequence: number;
  attempt: number;
  word: string;
  requestId: string;
  specHash: string;
  generation: number;
  /** The spec that the operation uses, resolved and without hosts (its plan has them); later edits do not change it. */
  spec: Spec;
  step: string;
  /** Number of hooks of the plan that have succeeded; absent if none has. */
  hooksDone?: number;
  startedAt: string;
  /** The earliest start of this attempt, after a lost one. */
  notBefore?: string;
  /** The plan hash that the user approved before the acceptance; it does not apply to later requests. */
  plan?: string;
  /** The snapshot that it restores. */
  snapshot?: string;
  /** The phase before a snapshot, which is that after it: a snapshot changes nothing. */
  phaseBefore?: Phase;
  /** When its run was first notified to stop, and by which user; a run that has not begun is not notified. */
  cancelledAt?: string;
  cancelledBy?: string;
  /** The user who requested the operation; a later edit has another requester. */
  requestedBy?: string;
  endedAt?: string;
  result?: Result;
  /**
   * Whether the record of an end without success is complete: then leftovers may be removed, and another operation may
   * begin.
   */
  recorded?: boolean;
}

export interface HostStatus {
  ip: string;
  state: string;
  message?: string;
}

export interface EtcdSnapshotsStatus {
  stored: StoredSnapshot[];
  /** When the last operation that saves one has failed, if none has succeeded since. */
  failedAt?: string;
}

export interface ClusterStatus {
  phase?: Phase;
  reason?: string;
  message?: string;
  jobName?: string;
  lastTransitionTime?: string;
  observedGeneration?: number;
  operation?: OperationStatus;
  requests?: RequestRecord[];
  conditions?: Condition[];
  version?: string;
  certificatesExpire?: string;
  /** The snapshots in the storage when the last one was saved, the newest first. */
  etcdSnapshots?: EtcdSnapshotsStatus;
  /** Nodes of the cluster, if it is probed. */
  nodes?: { ready: number; total: number };
  /** A short text about what is under way, or what the user must do. */
  summary?: string;
  /** Present while annotation `ecs.yun.com/dry-run` is. */
  plan?: PlanStatus;
  /** Hosts that need attention, at most 100. */
  hosts?: HostStatus[];
  /** Number of hosts in each state. */
  hostStates?: Record<string, number>;
}

export interface KubernetesCluster extends KubeObject {
  spec: Spec;
  status?: ClusterStatus;
}
