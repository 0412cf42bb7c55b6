import { SECRETS, type Secret } from '#api/core.ts';
import { HOSTS, type HostRecord } from '#api/host-record.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { labels, marks } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { InstallerModule } from '#installer/installer.ts';
import type { Offer } from '#operations/resolve.ts';
import { createInformer, type Informer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import type { Controller, ControllerObserver } from '#runtime/controller/controller.ts';
import type { Recorder } from '#runtime/events/recorder.ts';
import { clusterController, hostIndexers } from './controller.ts';
import { PUBLIC_KEYS } from './stores/anchors.ts';

export interface ClusterModuleDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  offer: Offer;
  /** The operator's namespace. */
  namespace: string;
  installer: InstallerModule;
  recorder: Recorder;
  workers: number;
  observe?: ControllerObserver | undefined;
}

/** Kept of an anchor: its metadata, and what is no secret: the sequence that was taken last, and the plan under it. */
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

const BY_MARK = 'cluster';
/** By the object that an object of ours is marked with. */
const byMark = ({ metadata }: KubeObject): string[] => {
  const cluster = metadata.annotations?.[marks.cluster];
  return cluster === undefined ? [] : [cluster];
};

/** The cluster controller with its caches: clusters everywhere, and what is ours in the operator's namespace. */
export function clusterModule(deps: ClusterModuleDeps): {
  controllers: Controller[];
  caches: Informer<KubeObject>[];
} {
  const { client, clock, log, namespace, installer, recorder } = deps;
  const of = { client, clock, log };
  const clusters = createInformer<KubernetesCluster>({
    ...of,
    resource: KUBERNETES_CLUSTERS,
    resyncMs: 600_000,
  });
  const hosts = createInformer<HostRecord>({
    ...of,
    resource: HOSTS,
    selection: { namespace },
    transform: withoutManagedFields,
    indexers: hostIndexers,
  });
  const anchors = createInformer<Secret>({
    ...of,
    resource: SECRETS,
    selection: { namespace, labelSelector: `${labels.purpose} in (anchor,tombstone)` },
    transform: withoutSecrets,
    indexers: { [BY_ID]: byId, [BY_MARK]: byMark },
  });
  const controller = clusterController({
    ...deps,
    clusters,
    hosts,
    anchorOf: (clusterId) =>
      anchors
        .byIndex(BY_ID, clusterId)
        .find(({ metadata }) => metadata.labels?.[labels.purpose] === 'anchor'),
    anchorsMarked: (cluster) => anchors.byIndex(BY_MARK, cluster),
    others: [anchors],
    event: (cluster, type, reason, message) => recorder.event(cluster, type, reason, message),
  });
  return { controllers: [controller], caches: [clusters, hosts, anchors, ...installer.caches] };
}
