import type { LabHost } from '#lab/hosts/places.ts';

/** So many files run at once, each with hosts of its own: the last lane is for light ones (rows.ts). */
export const LANES = Math.max(1, Math.trunc(Number(process.env['LANES'] ?? 3)) || 1);
export const HEAVY_LANES = Math.max(1, LANES - 1);
export const LANE_HOSTS = 5;

/** Which of the lanes this file runs in, from 0; a run of vitest beside another begins behind the lanes of that one. */
export function lane(): number {
  const found = Number(process.env['FIRST_LANE'] ?? 0) + Number(process.env['VITEST_POOL_ID'] ?? 1);
  if (found > LANES) throw new Error(`more files run at once than there are lanes: LANES is ${LANES}`);
  return found - 1;
}

/** Those of the lab's hosts that are of this lane; the first of all is of none. */
export function hostsOfLane(hosts: readonly LabHost[]): LabHost[] {
  const first = 1 + lane() * LANE_HOSTS;
  return hosts.slice(first, first + LANE_HOSTS);
}
