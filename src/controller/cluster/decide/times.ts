import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { AttemptRef, AttemptState } from '#installer/installer.ts';

/** When what is under way counts as over, late or gone; all in milliseconds since 1970. */

/** The moment at which the operation must be over. */
export function deadlineOf({ startedAt, spec }: OperationStatus): number {
  const minutes = Number(spec.cluster.timeout_mins ?? 60);
  return Date.parse(startedAt) + minutes * 60_000;
}

/** Whether it waits for its first run or hook: its time counts from that one's beginning. */
export const isFirstToBegin = ({ step, attempt, hooksDone }: OperationStatus): boolean =>
  step === 'starting' && attempt === 1 && hooksDone === undefined;

/** How long a run that was told to stop may take to report; it ends Ansible itself well before. */
const STOP_MS = 90_000;

/** The moment at which a run that was told to stop counts as cut off; never, while none was told. */
export const stopBy = ({ cancelledAt }: OperationStatus): number =>
  cancelledAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(cancelledAt) + STOP_MS;

/** How long past its end a pod may be seen before its node counts as lost. */
const LATE_MS = 10_000;

/** The moment at which a running attempt counts as lost; never, while nobody has ended its pod. */
export const lostAt = ({ endsBy }: AttemptState & { kind: 'running' }): number =>
  endsBy === undefined ? Number.POSITIVE_INFINITY : Date.parse(endsBy) + LATE_MS;

/** The moment from which on a run that was removed counts as gone; one that was not does at once. */
export const goneAt = ({ leavesBy }: AttemptRef): number =>
  leavesBy === undefined ? Number.NEGATIVE_INFINITY : Date.parse(leavesBy) + LATE_MS;
