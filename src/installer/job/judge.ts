import type { Job, Pod } from '#api/core.ts';
import { EXIT } from '#protocol/exit.ts';
import { type Report, reportFrom } from '#protocol/report.ts';
import type { AttemptState } from '../installer.ts';

const conditionOf = (job: Job, type: string) =>
  job.status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');

export const isComplete = (job: Job): boolean => conditionOf(job, 'Complete') !== undefined;

/** Whether the Job has ended, with success or failure. */
export const hasEnded = (job: Job): boolean => isComplete(job) || conditionOf(job, 'Failed') !== undefined;

const lastMessageOf = (pod: Pod | undefined) =>
  pod?.status?.containerStatuses?.find(({ name }) => name === 'ansibleinit')?.state?.terminated;

/**
 * Whether the pod ended with code 0: its Job is then complete, but its controller reports so two seconds later, in a batch.
 */
export const endedWell = (pod: Pod | undefined): boolean => lastMessageOf(pod)?.exitCode === EXIT.done;

/**
 * Returns the state of an attempt, from its Job and pod, and at its end from the report. The Job decides, or the exit code
 * before it; the report only adds what these lack. An attempt without report and result is lost: it may have changed any of
 * its hosts.
 */
export function judge(
  job: Job,
  pod: Pod | undefined,
  report: Report | undefined,
  step?: string,
): AttemptState {
  const terminated = lastMessageOf(pod);
  const verdict = report ?? reportFrom(terminated?.message);
  const reported = report ? { report } : verdict ? { report: verdict } : {};
  if (isComplete(job)) {
    const { completionTime } = job.status ?? {};
    return {
      kind: 'succeeded',
      ...reported,
      ...(completionTime === undefined ? {} : { endedAt: completionTime }),
    };
  }
  const failed = conditionOf(job, 'Failed');
  if (!failed && endedWell(pod) && report?.success) {
    const { finishedAt } = terminated ?? {};
    return { kind: 'succeeded', report, ...(finishedAt === undefined ? {} : { endedAt: finishedAt }) };
  }
  if (!failed) {
    const endsBy = terminated ? undefined : pod?.metadata.deletionTimestamp;
    return {
      kind: 'running',
      ...(step === undefined ? {} : { step }),
      ...(endsBy === undefined ? {} : { endsBy }),
    };
  }
  const ended = failed.lastTransitionTime === undefined ? {} : { endedAt: failed.lastTransitionTime };
  if (failed.reason === 'DeadlineExceeded') {
    return {
      kind: 'failed',
      reason: 'DeadlineExceeded',
      message: 'the Job ran into its deadline',
      ...reported,
      ...ended,
    };
  }
  if (terminated?.exitCode === EXIT.undelivered && verdict?.success)
    return { kind: 'succeeded', ...reported, ...ended };
  if (verdict && !verdict.success) {
    return {
      kind: 'failed',
      reason: verdict.reason ?? 'OperationFailed',
      message: verdict.message,
      ...reported,
      ...ended,
    };
  }
  if (verdict) {
    // If a Job failed, a report of success is ignored.
    return {
      kind: 'failed',
      reason: 'Contradiction',
      message: 'the Job failed after it had reported success',
    };
  }
  const why = terminated
    ? `the pod ended with exit code ${terminated.exitCode}`
    : (pod?.status?.reason ?? 'its pod is gone');
  return { kind: 'lost', why, ...ended };
}
