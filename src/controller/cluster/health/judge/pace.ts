/** How often a cluster is looked at. */
export interface Pace {
  intervalMs: number;
  /** In [0, 1). */
  random(): number;
}

/** The longest pause before a cluster that does not answer is looked at again. */
export const MAX_PAUSE_MS = 300_000;

/**
 * Milliseconds until the next look, spread by a fifth to both sides so that a fleet is not looked at all at once. After
 * two looks in a row to which nobody answered the pauses double.
 */
export function pauseMs(silentLooks: number, { intervalMs, random }: Pace): number {
  const base = intervalMs * 2 ** Math.min(Math.max(silentLooks - 1, 0), 20);
  return Math.min(base, Math.max(MAX_PAUSE_MS, intervalMs)) * (0.8 + 0.4 * random());
}
