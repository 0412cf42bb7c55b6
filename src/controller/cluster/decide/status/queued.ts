import { type Condition, findCondition, type Stated } from '#api/conditions.ts';
import type { OperationStatus } from '#api/kubernetes-cluster.ts';
import type { Outcome } from '../outcome.ts';
import type { Turn } from '../snapshot.ts';

export const QUEUED = 'Queued';

function textOf({ before, most, mostOfOne }: Extract<Turn, { kind: 'waits' }>): string {
  if (mostOfOne !== undefined)
    return `waits for its namespace; at most ${mostOfOne} of one namespace run at once`;
  const atMost = `at most ${most} run at once`;
  if (before === undefined) return `waits for its turn; ${atMost}`;
  if (before === 0) return `is the next to begin; ${atMost}`;
  const many = before === 1 ? '1 operation' : `${before}${before > 10 ? ' or more' : ''} operations`;
  return `waits for ${many} before it; ${atMost}`;
}

const queuedIn = (conditions: readonly Condition[] | undefined): Condition | undefined => {
  const found = findCondition(conditions, 'Reconciling');
  return found?.reason === QUEUED ? found : undefined;
};

/** Returns `Reconciling` of an operation that waits for its turn or its hosts; undefined if it does not wait. */
export function queued(outcome: Outcome, conditions: readonly Condition[] | undefined): Stated | undefined {
  if (outcome.kind === 'wait' && outcome.waitsFor !== undefined)
    return { type: 'Reconciling', status: 'True', reason: QUEUED, message: outcome.waitsFor };
  if (outcome.kind !== 'rest' || !outcome.turn) return undefined;
  const { turn } = outcome;
  // A place that is not known yet does not replace the one that status already shows.
  const message =
    turn.before === undefined && turn.mostOfOne === undefined ? queuedIn(conditions)?.message : undefined;
  return { type: 'Reconciling', status: 'True', reason: QUEUED, message: message ?? textOf(turn) };
}

/** Returns a short text about the operation under way, for the summary. */
export function doingOf(operation: OperationStatus, conditions: readonly Condition[]): string {
  const waits = queuedIn(conditions)?.message.split(';')[0];
  const stops = operation.cancelledAt === undefined ? '' : ', cancelled, is being stopped';
  return `${operation.word}: ${waits ?? operation.step}${stops}`;
}
