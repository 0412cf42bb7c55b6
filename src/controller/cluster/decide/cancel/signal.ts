import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { findOperation } from '#operations/index.ts';
import type { Snapshot } from '../snapshot.ts';
import { deadlineOf, lostAt, stopBy } from '../times.ts';

/** The fact that decides what happens next to a cancelled operation. */
export type CancelSignal =
  /** No run was started. */
  | 'cancelled-before-run'
  /** The run has not been notified yet. */
  | 'cancelled'
  /** The run was notified, and may still report. */
  | 'stopping'
  /** The run was notified, and is gone or does not report. */
  | 'stop-overdue';

/** The controller may see a report a little later than the end of its run. */
const REPORT_MS = 5_000;

export function cancelSignal({ attempt, now }: Snapshot, operation: OperationStatus): CancelSignal {
  if (operation.cancelledAt === undefined)
    return operation.step === 'starting' && attempt.kind === 'absent' ? 'cancelled-before-run' : 'cancelled';
  if (attempt.kind === 'lost' && now.getTime() < Date.parse(attempt.endedAt ?? '') + REPORT_MS)
    return 'stopping';
  // A pod that cannot start receives no signal.
  if (attempt.kind !== 'running' || attempt.blocked) return 'stop-overdue';
  const by = isUninterruptible(operation) ? deadlineOf(operation) : stopBy(operation);
  return now.getTime() >= Math.min(by, lostAt(attempt)) ? 'stop-overdue' : 'stopping';
}

/** Whether the run is at a step that finishes before the run stops. */
const isUninterruptible = ({ name, step }: OperationStatus): boolean =>
  findOperation(name)?.planning.steps.some((one) => one.name === step && one.cut === 'never') ?? false;
