import { isCancelled } from '#api/cluster-facts.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import { hookStep } from '#operations/hooks.ts';
import type { SeenHook } from './due-hook.ts';
import type { WorkSignal } from './signal.ts';
import type { Snapshot } from './snapshot.ts';
import { isFirstToBegin, lostAt } from './times.ts';

/** While a hook is next or at work, nothing else is. */
export function hookSignal(
  { cluster, now }: Snapshot,
  operation: OperationStatus,
  { hook, state }: SeenHook,
  late: boolean,
): WorkSignal {
  if (state.kind === 'succeeded') return 'hook-done';
  if (state.kind === 'failed') return 'hook-failed';
  if (isCancelled(cluster)) return 'hook-cut';
  if (operation.step !== hookStep(hook)) {
    if (state.kind !== 'absent') return 'hook-started';
    if (cluster.spec.paused && hook.time === 'pre') return 'held';
    return late && !isFirstToBegin(operation) ? 'overdue' : 'hook-due';
  }
  if (late) return 'overdue';
  if (state.kind !== 'running' || now.getTime() >= lostAt(state)) return 'hook-failed';
  return state.blocked?.outdated ? 'hook-failed' : 'hook-running';
}
