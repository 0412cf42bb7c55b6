import type { Stated } from '#api/conditions.ts';

/** Most names that a message lists. */
const MAX_NAMED = 10;

/**
 * Joins names for a message: sorted, the first ten, and how many more. The order of the findings does not change the text.
 */
export function named(names: readonly string[], between = ', '): string {
  const sorted = [...names].sort();
  const more = sorted.length - MAX_NAMED;
  return more > 0 ? `${sorted.slice(0, MAX_NAMED).join(between)} and ${more} more` : sorted.join(between);
}

export const isAre = (count: number): string => (count === 1 ? 'is' : 'are');

export const stated = (type: string, status: Stated['status'], reason: string, message: string): Stated => ({
  type,
  status,
  reason,
  message,
});
