import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { AttemptState } from '#installer/installer.ts';
import { hookStep, type PlannedHook } from '#operations/hooks.ts';
import type { FrozenPlan } from './frozen-plan.ts';

/** The step of an operation whose run has succeeded and is recorded, while hooks follow. */
export const FINISHING = 'finishing';

/** The hook that an operation comes to next, or is at. */
export interface DueHook {
  hook: PlannedHook;
  job: string;
}

/** The same hook, with the state of its Job. */
export interface SeenHook extends DueHook {
  state: AttemptState;
}

/**
 * Returns the plan's next hook. Before the run these are all hooks that were not done; after the run they follow only once
 * status says that the run succeeded. Undefined if the run itself is next or under way.
 */
export function dueHook(plan: FrozenPlan | undefined, operation: OperationStatus): DueHook | undefined {
  const index = operation.hooksDone ?? 0;
  const hook = plan?.hooks[index];
  if (!hook) return undefined;
  const isDue = hook.time === 'pre' || operation.step === FINISHING || operation.step === hookStep(hook);
  return isDue ? { hook, job: `hook-${operation.id}-${index}` } : undefined;
}

/** Whether a hook of the operation may have reached a host. A hook whose pod cannot start reached none. */
export const hooksHaveBegun = (seen: SeenHook | undefined, { hooksDone = 0 }: OperationStatus): boolean =>
  hooksDone > 0 || hasBegun(seen);

const hasBegun = (seen: SeenHook | undefined): boolean =>
  seen !== undefined &&
  seen.state.kind !== 'absent' &&
  !(seen.state.kind === 'running' && seen.state.blocked !== undefined);
