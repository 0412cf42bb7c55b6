import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';

/** Moments at which an operation, a run or a pod counts as over, late or gone, in milliseconds since 1970. */

/** Returns the moment at which the operation must be over. */
export function deadlineOf({ startedAt, spec }: OperationStatus): number {
  const minutes = Number(spec.cluster.timeout_mins ?? 60);
  return Date.parse(startedAt) + minutes * 60_000;
}

/** Whether the operation waits for its first run or hook. Its time counts from the start of that one. */
export const isFirstToBegin = ({ step, attempt, hooksDone }: OperationStatus): boolean =>
  step === 'starting' && attempt === 1 && hooksDone === undefined;

/** Time that a notified run has to report; it ends Ansible well before. */
const STOP_MS = 90_000;

/** Returns the moment at which a notified run counts as cut off; infinity if it was not notified. */
export const stopBy = ({ cancelledAt }: OperationStatus): number =>
  cancelledAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelledAt) + STOP_MS;

/** Time past its end after which the node of a pod that still exists counts as lost. */
const LATE_MS = 10_000;

/** Returns the moment at which a running attempt counts as lost; infinity unless its pod was ended. */
export const lostAt = ({ endsBy }: AttemptState & { kind: 'running' }): number =>
  endsBy === undefined ? Number.POSITIVE_INFINITY : Date.parse(endsBy) + LATE_MS;

/** Returns the moment from which a removed run counts as gone; a run that was not removed counts as gone at once. */
export const goneAt = ({ leavesBy }: AttemptRef): number =>
  leavesBy === undefined ? Number.NEGATIVE_INFINITY : Date.parse(leavesBy) + LATE_MS;
