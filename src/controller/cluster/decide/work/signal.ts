import { isCancelled } from '#api/cluster-facts.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { type CancelSignal, cancelSignal } from '../cancel/signal.ts';
import { type HookSignal, hookSignal } from '../hook/signal.ts';
import type { Snapshot } from '../snapshot.ts';
import { deadlineOf, isFirstToBegin, lostAt } from '../times.ts';

/** The fact that decides what happens next while an operation is under way. */
export type WorkSignal =
  /** Accepted; its run has not been seen yet. */
  | 'starting'
  /** The operation would start, but spec.paused is set. */
  | 'paused'
  /** Its run was seen. */
  | 'started'
  | 'running'
  /** Its run ended without a report, its node does not answer, or its pod cannot start. */
  | 'lost'
  | 'deadline-exceeded'
  | 'succeeded'
  | 'failed'
  | CancelSignal
  | HookSignal;

export function workSignalOf(snapshot: Snapshot, operation: OperationStatus): WorkSignal {
  const { attempt, now, cluster, plan, hook } = snapshot;
  const late = now.getTime() >= deadlineOf(operation);
  if (hook) return hookSignal(snapshot, operation, hook, late);
  // An attempt that ended before it was seen has only its end to report.
  if (attempt.kind === 'failed') return attempt.kind;
  // Until its start is seen, the time counts from its acceptance, and it may have waited since.
  const isUnseen = plan !== undefined && isFirstToBegin(operation);
  if (attempt.kind === 'succeeded') return isUnseen && late ? 'started' : attempt.kind;
  if (isCancelled(cluster)) return cancelSignal(snapshot, operation);
  if (operation.step === 'starting') {
    if (attempt.kind !== 'absent') return 'started';
    if (cluster.spec.paused) return 'paused';
    return late && !isFirstToBegin(operation) ? 'deadline-exceeded' : 'starting';
  }
  if (late) return 'deadline-exceeded';
  if (attempt.kind !== 'running' || now.getTime() >= lostAt(attempt)) return 'lost';
  // No present setting can start its pod; the next attempt may start.
  return attempt.blocked?.outdated ? 'lost' : 'running';
}
