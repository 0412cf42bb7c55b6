import { annotations } from '#api/names.ts';
import { isSha256 } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import type { Change } from './change.ts';

/** Refuses a value that is no plan hash. The controller compares it with the present plan at the acceptance. */
export function agreedPlanProblems({ old, next }: Pick<Change, 'old' | 'next'>): Problem[] {
  const value = next.metadata.annotations?.[annotations.plan] ?? '';
  if (value === '' || value === (old?.metadata.annotations?.[annotations.plan] ?? '') || isSha256(value))
    return [];
  const reason = 'is not the hash of a plan; a dry run says it as "hash"';
  return [{ field: `metadata.annotations[${annotations.plan}]`, value, reason }];
}
