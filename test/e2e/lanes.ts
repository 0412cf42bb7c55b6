import { inject } from 'vitest';
import { type LabHost, network } from '#lab/hosts/places.ts';
import { type Meta, openMeta } from '#lab/meta/meta.ts';
import { freshenLane } from './fresh-lane.ts';
import { LANE_HOSTS, LANES } from './lane-count.ts';

/** Which of the lanes this file runs in, from 0; a run of vitest beside another begins behind the lanes of that one. */
function lane(): number {
  const found = Number(process.env['FIRST_LANE'] ?? 0) + Number(process.env['VITEST_POOL_ID'] ?? 1);
  if (found > LANES) throw new Error(`more files run at once than there are lanes: LANES is ${LANES}`);
  return found - 1;
}

/** The hosts of this lane; the first of all is of none. */
export function laneHosts(): LabHost[] {
  const first = 1 + lane() * LANE_HOSTS;
  return inject('place').hosts.slice(first, first + LANE_HOSTS);
}

/** A host of the meta cluster's network that joins it where a test wants to lose a node of it. */
export function secondNode(): LabHost {
  const [host] = inject('place').hosts;
  if (!host) throw new Error('the lab has no hosts');
  return host;
}

/** An address at which nobody answers, and that no other lane names: a record of a host is of one cluster. */
export const absentHost = (): string => network.gateway.replace(/\d+$/, String(250 - lane()));

/** The meta cluster with those hosts, which are as new. */
export async function openLane(): Promise<Meta> {
  const meta = await openMeta({ ...inject('place'), hosts: laneHosts() });
  await freshenLane(meta);
  return meta;
}
