import {
  CONFIG_MAPS,
  type ConfigMap,
  JOBS,
  type Job,
  LEASES,
  type Lease,
  PODS,
  type Pod,
  SECRETS,
  type Secret,
} from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { labels, marks } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { BY_CLUSTER, BY_JOB, jobInstaller } from '#installer/job/installer.ts';
import type { JobSettings } from '#installer/job/manifest.ts';
import type { Offer } from '#operations/resolve.ts';
import type { Client } from '#runtime/client.ts';
import type { Controller, ControllerObserver } from '#runtime/controller.ts';
import { createInformer, type Informer } from '#runtime/informer.ts';
import type { Recorder } from '#runtime/recorder.ts';
import { claimIndexers, clusterController } from './controller.ts';

export interface ClusterRoomDeps {
  client: Client;
  clock: Clock;
  log: Logger;
  offer: Offer;
  jobs: JobSettings;
  recorder: Recorder;
  workers: number;
  observe?: ControllerObserver | undefined;
}

/** Kept of a log or a key: that it is there, and what its metadata say; never what it holds. */
const withoutData = <T extends ConfigMap | Secret>({ data: _data, ...rest }: T): Omit<T, 'data'> => ({
  ...rest,
  metadata: { ...rest.metadata, managedFields: [] },
});

/** Of an anchor also the sequence that was taken last, so that the next can be taken without a look. */
const withoutSecrets = (secret: Secret): Secret => {
  const sequence = secret.data?.['sequence'];
  return { ...withoutData(secret), ...(sequence === undefined ? {} : { data: { sequence } }) };
};

const byLabel =
  (label: string) =>
  ({ metadata }: KubeObject): string[] => {
    const value = metadata.labels?.[label];
    return value === undefined ? [] : [value];
  };

const BY_MARK = 'cluster';
/** By the object that an object of ours is marked with. */
const byMark = ({ metadata }: KubeObject): string[] => {
  const cluster = metadata.annotations?.[marks.cluster];
  return cluster === undefined ? [] : [cluster];
};

/** The cluster controller with its caches: clusters everywhere, and what is ours in the operator's namespace. */
export function clusterRoom(deps: ClusterRoomDeps): {
  controllers: Controller[];
  caches: Informer<KubeObject>[];
} {
  const { client, clock, log, jobs: settings, recorder } = deps;
  const { namespace } = settings;
  const ours = (purpose: string) => ({ namespace, labelSelector: `${labels.purpose}=${purpose}` });
  const clusters = createInformer<KubernetesCluster>({
    client,
    log,
    clock,
    resource: KUBERNETES_CLUSTERS,
    resyncMs: 600_000,
  });
  const claims = createInformer<Lease>({
    client,
    log,
    clock,
    resource: LEASES,
    selection: ours('claim'),
    indexers: claimIndexers,
  });
  const jobs = createInformer<Job>({
    client,
    log,
    clock,
    resource: JOBS,
    selection: ours('attempt'),
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  const pods = createInformer<Pod>({
    client,
    log,
    clock,
    resource: PODS,
    selection: ours('attempt'),
    indexers: { [BY_JOB]: byLabel('batch.kubernetes.io/job-name') },
  });
  const logs = createInformer<ConfigMap>({
    client,
    log,
    clock,
    resource: CONFIG_MAPS,
    selection: ours('log'),
    transform: withoutData,
    indexers: { [BY_MARK]: byMark },
  });
  const secrets = createInformer<Secret>({
    client,
    log,
    clock,
    resource: SECRETS,
    selection: { namespace, labelSelector: `${labels.purpose} in (anchor,attempt-secret,tombstone)` },
    transform: withoutSecrets,
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId), [BY_MARK]: byMark },
  });
  const made = new Set<string>();
  const purposeOf = ({ metadata }: KubeObject) => metadata.labels?.[labels.purpose];
  const controller = clusterController({
    ...deps,
    namespace,
    clusters,
    claims,
    anchorOf: (clusterId) =>
      secrets.byIndex(BY_CLUSTER, clusterId).find((secret) => purposeOf(secret) === 'anchor'),
    remains: {
      anchorsOf: (cluster) =>
        secrets.byIndex(BY_MARK, cluster).filter((secret) => purposeOf(secret) !== 'attempt-secret'),
      logsOf: (cluster) => logs.byIndex(BY_MARK, cluster),
    },
    others: [jobs, pods, logs, secrets],
    installer: (scoped) => jobInstaller(scoped, settings, { jobs, pods, logs, secrets, made }),
    event: (cluster, type, reason, message) => recorder.event(cluster, type, reason, message),
  });
  return { controllers: [controller], caches: [clusters, claims, jobs, pods, logs, secrets] };
}
