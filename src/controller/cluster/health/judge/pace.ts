/** The interval of the probes of a cluster. */
export interface Pace {
  intervalMs: number;
  /** Returns a number in [0, 1). */
  random(): number;
}

/** The longest pause before a cluster that does not answer is probed again. */
export const MAX_PAUSE_MS = 300_000;

/**
 * Returns the milliseconds until the next probe, spread by 20 % to both sides so that a fleet is not probed all at once.
 * After two consecutive probes without an answer, the pause doubles each time.
 */
export function pauseMs(silentProbes: number, { intervalMs, random }: Pace): number {
  const base = intervalMs * 2 ** Math.min(Math.max(silentProbes - 1, 0), 20);
  return Math.min(base, Math.max(MAX_PAUSE_MS, intervalMs)) * (0.8 + 0.4 * random());
}
