import { annotations } from '#api/names.ts';
import { isSha256 } from '#base/canonical.ts';
import type { Problem } from '#base/errors.ts';
import type { Change } from './change.ts';

/** Refuses what is no hash of a plan; whether it is that of the present plan is seen when the request is accepted. */
export function agreedPlanProblems({ old, next }: Pick<Change, 'old' | 'next'>): Problem[] {
  const value = next.metadata.annotations?.[annotations.plan] ?? '';
  if (value === '' || value === (old?.metadata.annotations?.[annotations.plan] ?? '') || isSha256(value))
    return [];
  const reason = 'is not the hash of a plan; a dry run says it as "hash"';
  return [{ field: `metadata.annotations[${annotations.plan}]`, value, reason }];
}
