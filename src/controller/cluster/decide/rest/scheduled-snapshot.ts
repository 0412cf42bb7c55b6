import { isDryRun } from '#api/cluster-facts.ts';
import type { Stated } from '#api/conditions.ts';
import { annotations } from '#api/names.ts';
import { sha256 } from '#base/canonical.ts';
import { nextScheduled } from '#operations/snapshot-schedule.ts';
import { agreedHash, lastSequence } from '../approved-plan.ts';
import type { Outcome } from '../outcome.ts';
import type { Snapshot } from '../snapshot.ts';

/** Snapshots by `spec.etcdSnapshots.schedule`. */

const MINUTE_MS = 60_000;
/** Most minutes after the scheduled time: not all clusters begin at once. */
const JITTER_MINUTES = 10;
/** A snapshot that failed is tried again before the next scheduled time. */
const AFTER_FAILURE_MS = 30 * MINUTE_MS;
/** Longest wait: timers hold no longer time than some weeks. */
const MAX_WAIT_MS = 60 * MINUTE_MS;
/** Time for a snapshot itself, before it counts as late. */
const LATE_MS = 30 * MINUTE_MS;

/** Returns the same delay for a cluster each time. */
const jitterMs = (clusterId: string): number =>
  (Number.parseInt(sha256(clusterId).slice(0, 8), 16) % (JITTER_MINUTES * 60)) * 1000;

/** The clock of the host that a snapshot was saved on may be ahead by this much. */
const AHEAD_MS = 10 * MINUTE_MS;

/**
 * Returns the time of the newest snapshot. If the clock of its host was ahead, that is the time when it was asked for by the
 * schedule, or the time of an older one.
 */
function newest({ cluster, now }: Snapshot): Date | undefined {
  const times = (cluster.status?.etcdSnapshots?.stored ?? []).map(({ createdAt }) => Date.parse(createdAt));
  const isAhead = (time: number) => time > now.getTime() + AHEAD_MS;
  const asked = Date.parse(cluster.metadata.annotations?.[annotations.snapshotAskedAt] ?? '');
  const known = times.filter((time) => !isAhead(time));
  const all = times.some(isAhead) && !Number.isNaN(asked) ? [...known, asked] : known;
  return all.length === 0 ? undefined : new Date(Math.max(...all));
}

/** Returns the scheduled time after `from`, with the delay of this cluster. */
function scheduledAfter({ cluster, clusterId }: Snapshot, from: Date): Date | undefined {
  const { schedule } = cluster.spec.etcdSnapshots ?? {};
  const next = schedule === undefined ? undefined : nextScheduled(schedule, from);
  return next && new Date(next.getTime() + jitterMs(clusterId));
}

/** Returns the time from which the schedule counts: the newest snapshot, or the creation of the object. */
const countsFrom = (snapshot: Snapshot): Date =>
  newest(snapshot) ?? new Date(snapshot.cluster.metadata.creationTimestamp ?? snapshot.now);

/** Returns when the next snapshot is due by the schedule; undefined without one, or if something prevents it. */
export function snapshotDueAt(snapshot: Snapshot): Date | undefined {
  const { cluster, applied, operation } = snapshot;
  if (!applied || cluster.spec.paused || isDryRun(cluster) || agreedHash(snapshot) !== undefined)
    return undefined;
  const due = scheduledAfter(snapshot, countsFrom(snapshot));
  const asked = cluster.metadata.annotations?.[annotations.snapshotAskedAt];
  const failed =
    operation?.name === 'snapshot' && operation.result !== 'finished' ? operation.endedAt : undefined;
  const rest = [asked, failed].map((time) => Date.parse(time ?? '') + AFTER_FAILURE_MS);
  return due && new Date(Math.max(due.getTime(), ...rest.filter((time) => !Number.isNaN(time))));
}

/** Whether a scheduled snapshot is due now. */
export const isSnapshotDue = (snapshot: Snapshot): boolean => {
  const due = snapshotDueAt(snapshot);
  return due !== undefined && due <= snapshot.now;
};

/** Sets the operation annotation as a user would, or waits for the scheduled time. */
export function scheduledSnapshot(snapshot: Snapshot): Outcome {
  const due = snapshotDueAt(snapshot);
  if (!due) return { kind: 'rest' };
  const ms = due.getTime() - snapshot.now.getTime();
  if (ms > 0) return { kind: 'wait', ms: Math.min(ms, MAX_WAIT_MS) };
  const requestId = `schedule-${lastSequence(snapshot.cluster) + 1}`;
  return { kind: 'act', effects: [{ kind: 'ask-upkeep', operation: 'snapshot', requestId }] };
}

/** Returns condition `SnapshotsCurrent` if there is a schedule: False if two scheduled times passed without a snapshot. */
export function snapshotsCondition(snapshot: Snapshot): Stated | undefined {
  const { cluster, now, applied } = snapshot;
  const { schedule } = cluster.spec.etcdSnapshots ?? {};
  if (schedule === undefined || !applied) return undefined;
  const type = 'SnapshotsCurrent';
  const last = newest(snapshot);
  const first = nextScheduled(schedule, countsFrom(snapshot));
  const second = first && scheduledAfter(snapshot, first);
  if (second && now.getTime() <= second.getTime() + LATE_MS) {
    const message = last
      ? `the newest snapshot is of ${last.toISOString()}`
      : `the first snapshot is due at ${first?.toISOString()}`;
    return { type, status: 'True', reason: last ? 'Current' : 'Waiting', message };
  }
  const message = last
    ? `the newest snapshot is of ${last.toISOString()}, and the schedule "${schedule}" has asked for two since; see the log of the last snapshot`
    : `there is no snapshot, and the schedule "${schedule}" has asked for two; see the log of the last snapshot`;
  return { type, status: 'False', reason: last ? 'TooOld' : 'NoSnapshot', message };
}
