import { z } from 'zod';
import { shortHash } from '#base/canonical.ts';
import { remembered } from '#base/remembered.ts';
import { LISTS } from './host.ts';
import { type HostRecord, type HostState, stateOf } from './host-record.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
  type Spec,
  specSchema,
} from './kubernetes-cluster.ts';
import { listsOf } from './member.ts';
import type { ObjectKey, OwnerReference } from './meta.ts';
import { annotations } from './names.ts';

/** Facts that follow from an object and the records of its hosts: for controller, server and webhook. */

/** `namespace/name`, as objects of ours name their cluster. */
export const textOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;

/** Another cluster (`namespace/name`), as people of `namespace` may read it. */
export const otherCluster = (cluster: string, namespace: string): string =>
  cluster.startsWith(`${namespace}/`) ? cluster : 'a cluster of another namespace';

export const keyOf = ({ metadata }: KubernetesCluster): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});

/** The owner reference of objects that go with the cluster. */
export const ownerReferenceTo = ({ metadata }: KubernetesCluster): OwnerReference => ({
  apiVersion: `${KUBERNETES_CLUSTERS.group}/${KUBERNETES_CLUSTERS.version}`,
  kind: KUBERNETES_CLUSTERS.kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

/** The id of the operation of that sequence. */
export const operationIdOf = (clusterId: string, sequence: number): string =>
  shortHash(`${clusterId}/${sequence}`);

/** The operation that was accepted and has not ended. */
export const operationUnderWay = ({ status }: KubernetesCluster): OperationStatus | undefined =>
  status?.operation?.result === undefined ? status?.operation : undefined;

/**
 * Whether somebody wants the operation under way to stop. Once its run was told so, taking the annotation away changes
 * nothing. A deletion cannot be cancelled.
 */
export function isCancelled(cluster: KubernetesCluster): boolean {
  const running = operationUnderWay(cluster);
  if (!running || running.name === 'delete') return false;
  return (
    running.cancelledAt !== undefined || cluster.metadata.annotations?.[annotations.cancel] === running.id
  );
}

/** Whether what is asked is only to be planned: as long as the annotation stands there, nothing begins. */
export const isDryRun = ({ metadata }: KubernetesCluster): boolean =>
  (metadata.annotations?.[annotations.dryRun] ?? '') !== '';

/** A spec without its hosts, spares and hooks: what stays small, and is compared, however large a cluster is. */
export function withoutHosts({ policy: _spares, hooks: _hooks, ...spec }: Spec): Spec {
  const cluster = { ...spec.cluster };
  for (const list of LISTS) delete cluster[list];
  return { ...spec, cluster };
}

/** What annotation `ecs.yun.com/applied` holds. */
const appliedSchema = z.object({ sequence: z.int(), spec: specSchema });
export type Applied = z.infer<typeof appliedSchema>;

/** The operation that was applied last, with its spec without hosts; undefined until a cluster was created. */
export const appliedOperation = remembered(({ metadata }: KubernetesCluster): Applied | undefined => {
  try {
    return appliedSchema.parse(JSON.parse(metadata.annotations?.[annotations.applied] ?? ''));
  } catch {
    return undefined;
  }
});

const MEMBERS: ReadonlySet<HostState> = new Set<HostState>(['Joined', 'Leaving']);
const MEMBERS_TO_BE: ReadonlySet<HostState> = new Set<HostState>(['Joined', 'Held']);

const withHosts = (spec: Spec, hosts: readonly HostRecord[], states: ReadonlySet<HostState>): Spec => ({
  ...spec,
  cluster: {
    ...spec.cluster,
    ...listsOf(
      hosts
        .filter((host) => states.has(stateOf(host)))
        .map(({ spec: { clusterId: _id, cluster: _of, ...member } }) => member),
    ),
  },
});

/** The spec that the cluster has: what was applied last, with the hosts whose records say that they joined. */
export function presentSpec(cluster: KubernetesCluster, hosts: readonly HostRecord[]): Spec | undefined {
  const applied = appliedOperation(cluster);
  return applied && withHosts(applied.spec, hosts, MEMBERS);
}

/**
 * The spec that the next operation starts from: an operation under way counts as done, since a word that is written
 * meanwhile waits for its end. Its hosts are those of the spec that it was accepted for, while that is there: between
 * acceptance and the hosts' records they stand nowhere else.
 */
export function comingSpec(cluster: KubernetesCluster, hosts: readonly HostRecord[]): Spec | undefined {
  const running = operationUnderWay(cluster);
  if (running && running.generation === cluster.metadata.generation) {
    const { masterList, nodeList, etcdList } = cluster.spec.cluster;
    return { ...running.spec, cluster: { ...running.spec.cluster, masterList, nodeList, etcdList } };
  }
  return running ? withHosts(running.spec, hosts, MEMBERS_TO_BE) : presentSpec(cluster, hosts);
}

/** A path into an object as Kubernetes spells it: `spec.cluster.masterList[0].ip`. */
export const pathText = (root: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    root,
  );
