import {
  CONFIG_MAPS,
  type ConfigMap,
  EVENTS,
  type Event,
  JOBS,
  type Job,
  PODS,
  type Pod,
  SECRETS,
  type Secret,
  secretText,
} from '#api/core.ts';
import type { ObjectKey } from '#api/meta.ts';
import { attemptSecretName, internalAnnotations, labels, logHeadName, reportSecretName } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { HOOK } from '#protocol/hook.ts';
import { type Report, reportFrom } from '#protocol/report.ts';
import type { Lister } from '#runtime/cache/store.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isNotFound } from '#runtime/wire/api-error.ts';
import type { AttemptRef, AttemptState, Blocked, Installer } from '../installer.ts';
import { blockedBy, podRefused } from './blocked.ts';
import { endedWell, hasEnded, isComplete, judge } from './judge.ts';
import { type JobSettings, jobOf, secretOf } from './manifest.ts';

export const BY_CLUSTER = 'clusterId';
export const BY_JOB = 'job';
/** Label of a pod with the name of its Job (batch/v1). */
export const JOB_NAME = 'batch.kubernetes.io/job-name';

/** Caches of the objects of attempts in the operator's namespace. */
export interface JobCaches {
  /** With index BY_CLUSTER. */
  jobs: Lister<Job>;
  /** With indexes BY_JOB and BY_CLUSTER. */
  pods: Lister<Pod>;
  /** With index BY_CLUSTER, by `namespace/name`. */
  logs: Lister<ConfigMap>;
  /** With index BY_CLUSTER; without secret data. */
  secrets: Lister<Secret>;
  clock: Clock;
  /** Jobs that this process created and did not remove; if one is missing, another client deleted it. */
  made: Set<string>;
}

/** Age of a Job without a pod after which the installer reads its Events. */
const PATIENCE_MS = 5_000;

/** Reports of ended Jobs, by the cached object: the first report is final, so it is read once. */
const reports = new WeakMap<Job, Report>();

/** Time for the pod of a removed Job to end. */
const LEAVES_MS = 30_000;

/**
 * Returns the time until which a hook's pod may still work, because no fence stops it. Returns undefined for other pods, and
 * for one that has ended.
 */
function stillWorks({ metadata, status }: Pod, clock: Clock): string | undefined {
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (metadata.labels?.[labels.auxiliary] !== HOOK || hasEnded) return undefined;
  return metadata.deletionTimestamp ?? new Date(clock.now().getTime() + LEAVES_MS).toISOString();
}

/** Creates the installer that runs Ansible in a Job of the meta cluster. */
export function jobInstaller(client: Client, settings: JobSettings, caches: JobCaches): Installer {
  const { namespace, reportsNamespace } = settings;
  const keyOf = (name: string): ObjectKey => ({ namespace, name });
  const reportKeyOf = (job: string): ObjectKey => ({
    namespace: reportsNamespace,
    name: reportSecretName(job),
  });
  const logKeyOf = (job: string): ObjectKey => ({
    namespace: reportsNamespace,
    name: logHeadName(job),
  });

  async function create(
    clusterId: string,
    make: () => Promise<unknown>,
    find: () => Promise<{ metadata: { labels?: Record<string, string> } }>,
  ) {
    try {
      await make();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await find();
      if (found.metadata.labels?.[labels.clusterId] !== clusterId) {
        throw new Error('an object of that name belongs to another cluster');
      }
    }
  }

  async function gone(action: Promise<unknown>): Promise<void> {
    try {
      await action;
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function stateOf(job: Job, { job: name }: AttemptRef): Promise<AttemptState> {
    const pod = caches.pods.byIndex(BY_JOB, name)[0];
    const step = caches.logs.get(logKeyOf(name))?.metadata.annotations?.[internalAnnotations.step];
    if (!hasEnded(job) && !endedWell(pod)) {
      const state = judge(job, pod, undefined, step);
      if (state.kind !== 'running') return state;
      const blocked = pod ? blockedBy(job, pod, settings.image) : await whyNoPod(job);
      return blocked ? { ...state, blocked } : state;
    }
    const report = reports.get(job) ?? (await keptReport(name));
    if (report) reports.set(job, report);
    // The pod's termination message may reach the cache after the Job's end. For a success the report alone is enough.
    const message = pod ?? (report && isComplete(job) ? undefined : await lastPod(name));
    return judge(job, message, report, step);
  }

  /** Returns the report that the server stored, under the key `report`. */
  async function keptReport(job: string): Promise<Report | undefined> {
    return reportFrom(secretText(await client.find<Secret>(SECRETS, reportKeyOf(job)), 'report'));
  }

  /** Returns the Job controller's reason why it cannot create a pod: a quota, a policy. */
  async function whyNoPod({ metadata }: Job): Promise<Blocked | undefined> {
    const ageMs = caches.clock.now().getTime() - Date.parse(metadata.creationTimestamp ?? '');
    if (!(ageMs > PATIENCE_MS)) return undefined;
    const fieldSelector = `involvedObject.uid=${metadata.uid},reason=FailedCreate`;
    const { items } = await client.list<Event>(EVENTS, { namespace, fieldSelector });
    const last = items.at(-1);
    return last && podRefused(last.message ?? '');
  }

  async function lastPod(job: string): Promise<Pod | undefined> {
    const labelSelector = `${JOB_NAME}=${job}`;
    return (await client.list<Pod>(PODS, { namespace, labelSelector })).items[0];
  }

  return {
    async start(attempt) {
      const secret = secretOf(attempt, settings);
      const job = jobOf(attempt, settings);
      const { clusterId } = attempt;
      await create(
        clusterId,
        () => client.create(SECRETS, secret),
        () => client.get(SECRETS, keyOf(secret.metadata.name ?? '')),
      );
      await create(
        clusterId,
        () => client.create(JOBS, job),
        () => client.get(JOBS, keyOf(attempt.job)),
      );
      caches.made.add(attempt.job);
    },
    async observe(ref) {
      let job = caches.jobs.get(keyOf(ref.job));
      // The pod of a deleted Job may still run, so the attempt counts as started.
      const nothing: AttemptState = caches.made.has(ref.job)
        ? { kind: 'lost', why: 'its Job is gone' }
        : { kind: 'absent' };
      if (!job) {
        // The cache may be late, so only the server decides that an attempt is absent. Its Secret is created first and
        // removed last.
        const secret = await client.find<Secret>(SECRETS, keyOf(attemptSecretName(ref.job)));
        if (!secret) return nothing;
        job = await client.find<Job>(JOBS, keyOf(ref.job));
      }
      if (!job) {
        const report = await keptReport(ref.job);
        if (!report) return nothing;
        const { success, message, reason = 'OperationFailed' } = report;
        return success ? { kind: 'succeeded', report } : { kind: 'failed', reason, message, report };
      }
      if (job.metadata.labels?.[labels.clusterId] !== ref.clusterId) return { kind: 'absent' };
      return stateOf(job, ref);
    },
    async list(clusterId) {
      const refs = new Map<string, AttemptRef>();
      const note = (job: string, marked: Record<string, string> = {}, leavesBy?: string) => {
        const [sequence, attempt] = [Number(marked[labels.sequence]), Number(marked[labels.attempt])];
        const auxiliary = marked[labels.auxiliary];
        refs.set(job, {
          ...{ clusterId, job, sequence, attempt },
          ...(auxiliary === undefined ? {} : { auxiliary }),
          ...(leavesBy === undefined ? {} : { leavesBy }),
        });
      };
      for (const { metadata } of caches.jobs.byIndex(BY_CLUSTER, clusterId))
        note(metadata.name ?? '', metadata.labels);
      // If a user deletes a Job, its Secret with the SSH key stays.
      for (const { metadata } of caches.secrets.byIndex(BY_CLUSTER, clusterId)) {
        if (metadata.labels?.[labels.purpose] === 'attempt-secret')
          note(metadata.name?.slice(attemptSecretName('').length) ?? '', metadata.labels);
      }
      for (const pod of caches.pods.byIndex(BY_CLUSTER, clusterId)) {
        const leavesBy = stillWorks(pod, caches.clock);
        const job = pod.metadata.labels?.[JOB_NAME] ?? '';
        if (leavesBy !== undefined && !refs.has(job)) note(job, pod.metadata.labels, leavesBy);
      }
      return [...refs.values()];
    },
    async remove({ job, auxiliary }) {
      // Without its Job, no callback can leave another report. The attempt's Secret is deleted last, so an interrupted
      // removal is found.
      await gone(client.delete(JOBS, keyOf(job), { propagationPolicy: 'Background' }));
      await gone(client.delete(SECRETS, reportKeyOf(job)));
      // The log of an auxiliary Job has no readers, and no operation's end removes it. Its parts are removed with their
      // owner.
      if (auxiliary !== undefined) await gone(client.delete(CONFIG_MAPS, logKeyOf(job)));
      await gone(client.delete(SECRETS, keyOf(attemptSecretName(job))));
      caches.made.delete(job);
    },
    async forget(cluster, sequence = Number.POSITIVE_INFINITY) {
      for (const { metadata } of caches.logs.byIndex(BY_CLUSTER, cluster)) {
        if (Number(metadata.labels?.[labels.sequence] ?? 0) > sequence) continue;
        const { namespace: at = '', name = '' } = metadata;
        await gone(client.delete(CONFIG_MAPS, { namespace: at, name }));
      }
    },
  };
}
