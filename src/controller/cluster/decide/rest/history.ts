import { DEFAULTS, MAX_HISTORY, type OperationStatus, type RequestRecord } from '#api/kubernetes-cluster.ts';
import { OPERATION_NAMES, operationAsked } from '#api/words.ts';
import type { Effect } from '../outcome.ts';

/** Of how many operations records and logs are kept, as the operation that ends was accepted with it. */
const keptBy = ({ history }: { history?: number | undefined }): number => history ?? DEFAULTS.history;

/**
 * What goes at the end of an operation because it is too long ago: what the end before left and this one does not, so
 * that a limit that was lowered takes effect at once. Nothing where there is nothing to remove.
 */
export function pruning(
  operation: OperationStatus,
  requests: readonly RequestRecord[],
): Extract<Effect, { kind: 'prune' }>[] {
  const before = requests.findLast(
    ({ sequence, result }) => sequence < operation.sequence && result !== undefined,
  );
  const left = before ? before.sequence - keptBy(before) + 1 : 1;
  const first = Math.max(1, left, operation.sequence - MAX_HISTORY);
  const last = operation.sequence - keptBy(operation.spec);
  if (last < first) return [];
  const records = Array.from({ length: last - first + 1 }, (_of, index) => {
    const sequence = first + index;
    const name = operationAsked(requests.find((one) => one.sequence === sequence)?.word);
    // Of what is longer ago than requests are remembered the record has any of these names.
    return { sequence, operations: name ? [name] : OPERATION_NAMES };
  });
  return [{ kind: 'prune', records, upTo: last }];
}
