/** How often a cluster is probed. */
export interface Pace {
  intervalMs: number;
  /** In [0, 1). */
  random(): number;
}

/** The longest pause before a cluster that does not answer is probed again. */
export const MAX_PAUSE_MS = 300_000;

/**
 * Milliseconds until the next probe, spread by a fifth to both sides so that a fleet is not probed all at once. After
 * two probes in a row to which nobody answered the pauses double.
 */
export function pauseMs(silentProbes: number, { intervalMs, random }: Pace): number {
  const base = intervalMs * 2 ** Math.min(Math.max(silentProbes - 1, 0), 20);
  return Math.min(base, Math.max(MAX_PAUSE_MS, intervalMs)) * (0.8 + 0.4 * random());
}
