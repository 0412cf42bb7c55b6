import {
  CONFIG_MAPS,
  type ConfigMap,
  JOBS,
  type Job,
  PODS,
  type Pod,
  SECRETS,
  type Secret,
} from '#api/core.ts';
import type { KubeObject } from '#api/meta.ts';
import { internalAnnotations, labels } from '#api/names.ts';
import type { InstallerHost, InstallerModule } from '../installer.ts';
import { BY_CLUSTER, BY_JOB, JOB_NAME, jobInstaller } from './installer.ts';
import type { JobSettings } from './manifest.ts';

/** Drops the data of a log or a Secret from the cache, and keeps its metadata. */
const withoutData = <T extends ConfigMap | Secret>({ data: _data, ...rest }: T): Omit<T, 'data'> => ({
  ...rest,
  metadata: { ...rest.metadata, managedFields: [] },
});

const byLabel =
  (label: string) =>
  ({ metadata }: KubeObject): string[] => {
    const value = metadata.labels?.[label];
    return value === undefined ? [] : [value];
  };

/** Indexes a log by its cluster annotation. */
const byClusterAnnotation = ({ metadata }: KubeObject): string[] => {
  const cluster = metadata.annotations?.[internalAnnotations.cluster];
  return cluster === undefined ? [] : [cluster];
};

/** Creates the installer that runs Ansible in Jobs, with caches of their objects in the operator's namespaces. */
export function jobInstallerModule(
  { clock, informer }: InstallerHost,
  settings: JobSettings,
): InstallerModule {
  const { namespace, reportsNamespace } = settings;
  const ours = (purpose: string) => ({ namespace, labelSelector: `${labels.purpose}=${purpose}` });
  const jobs = informer<Job>(JOBS, {
    selection: ours('attempt'),
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  const pods = informer<Pod>(PODS, {
    selection: ours('attempt'),
    indexers: { [BY_JOB]: byLabel(JOB_NAME), [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  // The selection has only the head objects of logs, which contain no lines.
  const logs = informer<ConfigMap>(CONFIG_MAPS, {
    selection: { ...ours('log'), namespace: reportsNamespace },
    transform: withoutData,
    indexers: { [BY_CLUSTER]: byClusterAnnotation },
  });
  const secrets = informer<Secret>(SECRETS, {
    selection: ours('attempt-secret'),
    transform: withoutData,
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  const made = new Set<string>();
  return {
    caches: [jobs, pods, logs, secrets],
    over: (client) => jobInstaller(client, settings, { jobs, pods, logs, secrets, made, clock }),
  };
}
