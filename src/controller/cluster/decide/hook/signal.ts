import { isCancelled } from '#api/cluster-facts.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { hookStep } from '#operations/hooks.ts';
import type { SeenHook } from '../due-hook.ts';
import type { Snapshot } from '../snapshot.ts';
import { isFirstToBegin, lostAt } from '../times.ts';

/** The fact that decides what happens next while a hook is next or at work. */
export type HookSignal =
  /** A hook comes next; its Job has not been seen yet. */
  | 'hook-due'
  | 'hook-started'
  | 'hook-running'
  | 'hook-done'
  | 'hook-failed'
  /** The operation is cancelled while a hook is next or at work. */
  | 'hook-cancelled';

/** Returns the signal of an operation that has come to a hook. Nothing else of the operation runs meanwhile. */
export function hookSignal(
  { cluster, now }: Snapshot,
  operation: OperationStatus,
  { hook, state }: SeenHook,
  late: boolean,
): HookSignal | 'paused' | 'deadline-exceeded' {
  if (state.kind === 'succeeded') return 'hook-done';
  if (state.kind === 'failed') return 'hook-failed';
  if (isCancelled(cluster)) return 'hook-cancelled';
  if (operation.step !== hookStep(hook)) {
    if (state.kind !== 'absent') return 'hook-started';
    if (cluster.spec.paused && hook.time === 'pre') return 'paused';
    return late && !isFirstToBegin(operation) ? 'deadline-exceeded' : 'hook-due';
  }
  if (late) return 'deadline-exceeded';
  if (state.kind !== 'running' || now.getTime() >= lostAt(state)) return 'hook-failed';
  return state.blocked?.outdated ? 'hook-failed' : 'hook-running';
}
