import { operationUnderWay } from '#api/cluster-facts.ts';
import { annotations } from '#api/names.ts';
import { isShortHash } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import type { Change } from './change.ts';

/** Refuses a value that is no operation id, and the id of a deletion. An id of another operation has no effect. */
export function cancelProblems({ old, next }: Pick<Change, 'old' | 'next'>): Problem[] {
  const value = next.metadata.annotations?.[annotations.cancel] ?? '';
  if (value === '' || value === (old?.metadata.annotations?.[annotations.cancel] ?? '')) return [];
  const field = `metadata.annotations[${annotations.cancel}]`;
  if (!isShortHash(value))
    return [
      {
        field,
        value,
        reason: 'is not the id of an operation; status.operation.id is that of the present one',
      },
    ];
  const running = operationUnderWay(old ?? next);
  if (running?.name !== 'delete' || running.id !== value) return [];
  return [{ field, value, reason: 'is the id of a deletion, which cannot be cancelled' }];
}
