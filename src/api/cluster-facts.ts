import { z } from 'zod';
import { shortHash } from '#base/canonical.ts';
import { remembered } from '#base/remembered.ts';
import { listsOf } from './cluster-host.ts';
import { LISTS } from './host.ts';
import { type HostRecord, type HostState, stateOf } from './host-record.ts';
import {
  KUBERNETES_CLUSTERS,
  type KubernetesCluster,
  type OperationStatus,
  type RequestRecord,
  type Spec,
  specSchema,
} from './kubernetes-cluster.ts';
import type { ObjectKey, OwnerReference } from './meta.ts';
import { annotations } from './names.ts';

/** Facts that follow from an object and its Host records: for controller, server and webhook. */

/** Returns `namespace/name`, by which objects of the operator refer to their cluster. */
export const textOf = ({ namespace, name }: ObjectKey): string => `${namespace}/${name}`;

/** Returns the name of another cluster (`namespace/name`) as users of `namespace` may see it. */
export const otherCluster = (cluster: string, namespace: string): string =>
  cluster.startsWith(`${namespace}/`) ? cluster : 'a cluster of another namespace';

export const keyOf = ({ metadata }: KubernetesCluster): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});

/** Returns the owner reference of objects that the garbage collector removes with the cluster. */
export const ownerReferenceTo = ({ metadata }: KubernetesCluster): OwnerReference => ({
  apiVersion: `${KUBERNETES_CLUSTERS.group}/${KUBERNETES_CLUSTERS.version}`,
  kind: KUBERNETES_CLUSTERS.kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

/** Returns the id of the operation with that sequence. */
export const operationIdOf = (clusterId: string, sequence: number): string =>
  shortHash(`${clusterId}/${sequence}`);

/** Returns the operation that was accepted and has not ended. */
export const operationUnderWay = ({ status }: KubernetesCluster): OperationStatus | undefined =>
  status?.operation?.result === undefined ? status?.operation : undefined;

/** Returns the latest record of the same request, if it was accepted before. */
export const acceptedAs = (
  { status }: KubernetesCluster,
  { word, requestId, specHash }: Pick<RequestRecord, 'word' | 'requestId' | 'specHash'>,
): RequestRecord | undefined =>
  status?.requests?.findLast(
    (one) => one.word === word && one.requestId === requestId && one.specHash === specHash,
  );

/**
 * Whether a user wants the operation under way to stop. Once its run was notified, removing the annotation changes nothing.
 * A deletion cannot be cancelled.
 */
export function isCancelled(cluster: KubernetesCluster): boolean {
  const running = operationUnderWay(cluster);
  if (!running || running.name === 'delete') return false;
  return (
    running.cancelledAt !== undefined || cluster.metadata.annotations?.[annotations.cancel] === running.id
  );
}

/** Whether the request is a dry run: while the annotation exists, nothing begins. */
export const isDryRun = ({ metadata }: KubernetesCluster): boolean =>
  (metadata.annotations?.[annotations.dryRun] ?? '') !== '';

/** Returns a spec without hosts, spares and hooks: this part stays small and comparable, however large a cluster is. */
export function withoutHosts({ policy: _spares, hooks: _hooks, ...spec }: Spec): Spec {
  const cluster = { ...spec.cluster };
  for (const list of LISTS) delete cluster[list];
  return { ...spec, cluster };
}

/** The content of annotation `ecs.yun.com/applied`. */
const appliedSchema = z.object({ sequence: z.int(), spec: specSchema });
export type Applied = z.infer<typeof appliedSchema>;

/** Returns the operation that was applied last, with its spec without hosts; undefined until the cluster was created. */
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
        .map(({ spec: { clusterId: _id, cluster: _of, ...host } }) => host),
    ),
  },
});

/** Returns the spec that the cluster has: the applied spec, with the hosts that joined by their records. */
export function presentSpec(cluster: KubernetesCluster, hosts: readonly HostRecord[]): Spec | undefined {
  const applied = appliedOperation(cluster);
  return applied && withHosts(applied.spec, hosts, MEMBERS);
}

/**
 * Returns the spec that the next operation starts from. An operation under way counts as done, since an operation annotation
 * that is set meanwhile waits for its end. Its hosts come from the object's spec while the generation is the accepted one:
 * between acceptance and the Host records no other place has them.
 */
export function comingSpec(cluster: KubernetesCluster, hosts: readonly HostRecord[]): Spec | undefined {
  const running = operationUnderWay(cluster);
  if (running && running.generation === cluster.metadata.generation) {
    const { masterList, nodeList, etcdList } = cluster.spec.cluster;
    return { ...running.spec, cluster: { ...running.spec.cluster, masterList, nodeList, etcdList } };
  }
  return running ? withHosts(running.spec, hosts, MEMBERS_TO_BE) : presentSpec(cluster, hosts);
}

/** Formats a path into an object as Kubernetes does: `spec.cluster.masterList[0].ip`. */
export const pathText = (root: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    root,
  );
