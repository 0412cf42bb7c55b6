import type { LabHost } from '#lab/hosts/places.ts';

/** Number of files at once, each with its own hosts. The last lane is for light files (rows.ts). */
export const LANES = Math.max(1, Math.trunc(Number(process.env['LANES'] ?? 3)) || 1);
export const HEAVY_LANES = Math.max(1, LANES - 1);
export const LANE_HOSTS = 5;

/** Returns the lane of this file, from 0. A parallel run of vitest starts after the lanes of the other run. */
export function lane(): number {
  const found = Number(process.env['FIRST_LANE'] ?? 0) + Number(process.env['VITEST_POOL_ID'] ?? 1);
  if (found > LANES) throw new Error(`more files run at once than there are lanes: LANES is ${LANES}`);
  return found - 1;
}

/** Returns the lab's hosts in this lane; the first host of the lab is in none. */
export function hostsOfLane(hosts: readonly LabHost[]): LabHost[] {
  const first = 1 + lane() * LANE_HOSTS;
  return hosts.slice(first, first + LANE_HOSTS);
}
