import { DEFAULTS, MAX_HISTORY, type OperationStatus, type RequestRecord } from '#api/kubernetes-cluster.ts';
import { OPERATION_NAMES, operationAsked } from '#api/operation-values.ts';
import type { Effect } from '../outcome.ts';

/** Returns how many operations keep their records and logs, by the spec that the ended operation was accepted with. */
const keptBy = ({ history }: { history?: number | undefined }): number => history ?? DEFAULTS.history;

/**
 * Returns the records and logs that the end of this operation removes. The range starts where the previous end stopped, so a
 * lowered limit takes effect at once. Empty if nothing is to be removed.
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
    // Status no longer remembers the request, so its record may have any of these names.
    return { sequence, operations: name ? [name] : OPERATION_NAMES };
  });
  return [{ kind: 'prune', records, upTo: last }];
}
