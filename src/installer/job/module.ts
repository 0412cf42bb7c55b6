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
import { labels, marks } from '#api/names.ts';
import type { InstallerHost, InstallerModule } from '../installer.ts';
import { BY_CLUSTER, BY_JOB, JOB_NAME, jobInstaller } from './installer.ts';
import type { JobSettings } from './manifest.ts';

/** Kept of a log or a key: that it is there, and what its metadata say; never what it holds. */
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

/** By the object that a log is marked with. */
const byMark = ({ metadata }: KubeObject): string[] => {
  const cluster = metadata.annotations?.[marks.cluster];
  return cluster === undefined ? [] : [cluster];
};

/** The installer that runs Ansible in Jobs, with caches of what those leave in the operator's namespaces. */
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
  // Heads of logs alone, which have no lines.
  const logs = informer<ConfigMap>(CONFIG_MAPS, {
    selection: { ...ours('log'), namespace: reportsNamespace },
    transform: withoutData,
    indexers: { [BY_CLUSTER]: byMark },
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
