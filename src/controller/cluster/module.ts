import { SECRETS, type Secret } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { internalAnnotations, labels } from '#api/names.ts';
import type { InstallerHost, InstallerModule } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import type { ControllerModule } from '#runtime/process/controller-host.ts';
import type { Span } from '#tracing/span.ts';
import { clusterController } from './controller.ts';
import { type HealthSettings, healthObserver } from './health/observer.ts';
import { fleetMetrics } from './metrics.ts';
import { fleetQueue } from './queue/fleet-queue.ts';
import { BY_CLUSTER, hostIndexers } from './reconcile.ts';
import { PUBLIC_KEYS } from './state/cluster-state.ts';

export interface ClusterModuleSettings {
  offer: Offer;
  installer: (host: InstallerHost) => InstallerModule;
  /** Settings of the probes of created clusters; if absent, clusters are not probed. */
  health?: HealthSettings | undefined;
  /** Most operations that run at once over all clusters. */
  maxOperations: number;
  /** Most of them that run in one namespace. Default: half of them, rounded up. */
  maxOperationsPerNamespace?: number | undefined;
  snapshotClaim?: string | undefined;
  /** Takes a span of each operation that has ended; if absent, there are no traces. */
  addSpan?: ((span: Span) => void) | undefined;
}

/** Returns a cluster state Secret with its metadata, the last sequence and the plan only. */
const withoutSecrets = (secret: Secret): Secret => ({
  ...secret,
  metadata: { ...secret.metadata, managedFields: [] },
  data: Object.fromEntries(
    PUBLIC_KEYS.flatMap((key) => {
      const value = secret.data?.[key];
      return value === undefined ? [] : [[key, value]];
    }),
  ),
});

const withoutManagedFields = (record: HostRecord): HostRecord => ({
  ...record,
  metadata: { ...record.metadata, managedFields: [] },
});

const BY_ID = 'clusterId';
const byId = ({ metadata }: KubeObject): string[] => {
  const id = metadata.labels?.[labels.clusterId];
  return id === undefined ? [] : [id];
};

const BY_ANNOTATION = 'cluster';
/** Returns the `namespace/name` of the cluster in the object's annotation. */
const byClusterAnnotation = ({ metadata }: KubeObject): string[] => {
  const cluster = metadata.annotations?.[internalAnnotations.cluster];
  return cluster === undefined ? [] : [cluster];
};

/** Returns the cluster controller, with caches of clusters in all namespaces and of objects in the operator's namespace. */
export const clusterModule =
  ({
    offer,
    installer,
    health,
    maxOperations: most,
    maxOperationsPerNamespace,
    snapshotClaim,
    addSpan,
  }: ClusterModuleSettings): ControllerModule =>
  (host) => {
    const { namespace, recorder, workers, metrics, clock } = host;
    const mostOfOne = maxOperationsPerNamespace ?? Math.ceil(most / 2);
    const wake = (key: ObjectKey) => controller.enqueue(key);
    const clusters = host.informer<KubernetesCluster>(KUBERNETES_CLUSTERS, { resyncMs: 600_000 });
    const hosts = host.informer<HostRecord>(HOSTS, {
      selection: { namespace },
      transform: withoutManagedFields,
      indexers: hostIndexers,
    });
    const clusterStates = host.informer<Secret>(SECRETS, {
      selection: { namespace, labelSelector: `${labels.purpose} in (anchor,tombstone)` },
      transform: withoutSecrets,
      indexers: { [BY_ID]: byId, [BY_ANNOTATION]: byClusterAnnotation },
    });
    const isLeading = () => host.term === undefined || host.term() !== undefined;
    if (metrics) fleetMetrics(metrics.registry, { clusters, hosts, isLeading });
    const observer =
      health &&
      healthObserver({
        ...host,
        ...health,
        clusters,
        hostsOf: (clusterId) => hosts.byIndex(BY_CLUSTER, clusterId),
        observe: metrics?.controller('kubernetescluster-health', health.workers),
        wake,
      });
    const controller = clusterController({
      ...host,
      healthOf: (cluster) => observer?.of(cluster) ?? { kind: 'off' },
      offer,
      snapshotClaim,
      addSpan,
      queue: fleetQueue({ clusters, clock, most, mostOfOne, wake }),
      installer: installer(host),
      clusters,
      hosts,
      clusterStateOf: (clusterId) =>
        clusterStates
          .byIndex(BY_ID, clusterId)
          .find(({ metadata }) => metadata.labels?.[labels.purpose] === 'anchor'),
      clusterStatesOf: (cluster) => clusterStates.byIndex(BY_ANNOTATION, cluster),
      others: [clusterStates],
      observe: metrics?.controller('kubernetescluster', workers),
      event: (cluster, type, reason, message) => recorder.event(cluster, type, reason, message),
    });
    return observer ? [controller, observer.controller] : [controller];
  };
