/**
 * The controller of KubernetesClusters: it moves each cluster from one state to the next and starts the Jobs of operations.
 */

import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { annotations, internalAnnotations } from '#api/names.ts';
import { requestedValue } from '#api/operation-values.ts';
import { type Controller, createController } from '#runtime/controller/controller.ts';
import { watching } from '#runtime/controller/sources.ts';
import { type ClusterControllerDeps, reconciler } from './reconcile.ts';

/** Returns the cluster that an object in the operator's namespace belongs to. */
function clusterKeyOf({ metadata }: KubeObject): ObjectKey[] {
  const [namespace, name] = metadata.annotations?.[internalAnnotations.cluster]?.split('/') ?? [];
  return namespace && name ? [{ namespace, name }] : [];
}

/** Returns the controller of KubernetesClusters. */
export function clusterController(deps: ClusterControllerDeps): Controller {
  const { clock, clusters } = deps;
  /** Clusters that wait for hosts, by `namespace/name`: each is woken when a Host record changes. */
  const waitingForHosts = new Map<string, ObjectKey>();
  return createController({
    name: 'kubernetescluster',
    for: clusters,
    urgent: isWaitedFor,
    watches: [
      watching(deps.hosts, (record) => [...clusterKeyOf(record), ...waitingForHosts.values()]),
      ...deps.installer.caches.map((informer) => watching(informer, clusterKeyOf)),
      ...deps.others.map((informer) => watching(informer, clusterKeyOf)),
    ],
    workers: deps.workers,
    observe: deps.observe,
    log: deps.log,
    clock,
    reconcile: reconciler(deps, waitingForHosts),
  });
}

/** Whether the cluster has work that is not done: at a start such clusters come before those without work. */
const isWaitedFor = ({ metadata, status }: KubernetesCluster): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.observedGeneration !== metadata.generation ||
  (status?.operation !== undefined && status.operation.result === undefined) ||
  requestedValue(metadata.annotations?.[annotations.operation]) !== undefined;
