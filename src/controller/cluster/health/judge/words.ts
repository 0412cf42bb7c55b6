import type { Stated } from '#api/conditions.ts';

/** How many are named where something holds for many. */
const MAX_NAMED = 10;

/** Sorted, the first ten and how many more: the same for the same facts, in whatever order they came. */
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
