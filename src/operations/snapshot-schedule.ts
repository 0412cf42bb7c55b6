import { Cron } from 'croner';
import type { Spec } from '#api/kubernetes-cluster.ts';
import { messageOf, type Problem } from '#base/errors.ts';

/** Parses a schedule of five fields, in UTC (crontab(5)). It starts no timer. */
const parsed = (schedule: string): Cron =>
  new Cron(schedule, { paused: true, timezone: 'UTC', mode: '5-part' });

/** Returns the problems of `spec.etcdSnapshots.schedule`. */
export function scheduleProblems({ etcdSnapshots }: Spec): Problem[] {
  const { schedule } = etcdSnapshots ?? {};
  const reason = schedule === undefined ? undefined : problemOf(schedule);
  return reason === undefined ? [] : [{ field: 'spec.etcdSnapshots.schedule', value: schedule, reason }];
}

function problemOf(schedule: string): string | undefined {
  const advice = 'write minute, hour, day, month and weekday, such as "0 3 * * *" for each day at 03:00 UTC';
  try {
    return parsed(schedule).nextRun() === null ? `never comes; ${advice}` : undefined;
  } catch (error) {
    return `is not a schedule (${messageOf(error)}); ${advice}`;
  }
}

/** Returns the first scheduled time after `from`; undefined if the schedule is not valid. */
export function nextScheduled(schedule: string, from: Date): Date | undefined {
  try {
    return parsed(schedule).nextRun(from) ?? undefined;
  } catch {
    return undefined;
  }
}
