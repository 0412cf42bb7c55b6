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
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import type { Client } from '#runtime/client/client.ts';
import type { InstallerModule } from '../installer.ts';
import { BY_CLUSTER, BY_JOB, jobInstaller } from './installer.ts';
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
  { client, clock, log }: { client: Client; clock: Clock; log: Logger },
  settings: JobSettings,
): InstallerModule {
  const { namespace, reportsNamespace } = settings;
  const ours = (purpose: string) => ({ namespace, labelSelector: `${labels.purpose}=${purpose}` });
  const of = { client, clock, log };
  const jobs = createInformer<Job>({
    ...of,
    resource: JOBS,
    selection: ours('attempt'),
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  const pods = createInformer<Pod>({
    ...of,
    resource: PODS,
    selection: ours('attempt'),
    indexers: { [BY_JOB]: byLabel('batch.kubernetes.io/job-name') },
  });
  const logs = createInformer<ConfigMap>({
    ...of,
    resource: CONFIG_MAPS,
    selection: { ...ours('log'), namespace: reportsNamespace },
    transform: withoutData,
    indexers: { [BY_CLUSTER]: byMark },
  });
  const secrets = createInformer<Secret>({
    ...of,
    resource: SECRETS,
    selection: ours('attempt-secret'),
    transform: withoutData,
    indexers: { [BY_CLUSTER]: byLabel(labels.clusterId) },
  });
  const made = new Set<string>();
  return {
    caches: [jobs, pods, logs, secrets],
    over: (scoped) => jobInstaller(scoped, settings, { jobs, pods, logs, secrets, made, clock }),
  };
}
