import { inject } from 'vitest';
import { type LabHost, network } from '#lab/hosts/places.ts';
import { type Meta, openMeta } from '#lab/meta/meta.ts';
import { freshenLane } from './fresh-lane.ts';
import { hostsOfLane, lane } from './lane.ts';

export const laneHosts = (): LabHost[] => hostsOfLane(inject('place').hosts);

/** Returns a host in the meta cluster's network, which joins it as a second node that a test may lose. */
export function secondNode(): LabHost {
  const [host] = inject('place').hosts;
  if (!host) throw new Error('the lab has no hosts');
  return host;
}

/** Returns an address at which no host answers, different in each lane: a Host record belongs to one cluster. */
export const absentHost = (which = 0): string =>
  network.gateway.replace(/\d+$/, String(250 - 10 * which - lane()));

/** Opens the meta cluster with the hosts of this lane, unchanged. */
export const enterLane = (): Promise<Meta> => openMeta({ ...inject('place'), hosts: laneHosts() });

/** Opens the same with hosts that are as new. */
export async function openLane(): Promise<Meta> {
  const meta = await enterLane();
  await freshenLane(meta);
  return meta;
}
