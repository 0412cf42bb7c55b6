import { inject } from 'vitest';
import { type LabHost, network } from '#lab/hosts/places.ts';
import { type Meta, openMeta } from '#lab/meta/meta.ts';
import { freshenLane } from './fresh-lane.ts';
import { hostsOfLane, lane } from './lane.ts';

export const laneHosts = (): LabHost[] => hostsOfLane(inject('place').hosts);

/** A host of the meta cluster's network that joins it where a test wants to lose a node of it. */
export function secondNode(): LabHost {
  const [host] = inject('place').hosts;
  if (!host) throw new Error('the lab has no hosts');
  return host;
}

/** An address at which nobody answers, and that no other lane names: a record of a host is of one cluster. */
export const absentHost = (which = 0): string =>
  network.gateway.replace(/\d+$/, String(250 - 10 * which - lane()));

/** The meta cluster with the hosts of this lane, as they are. */
export const enterLane = (): Promise<Meta> => openMeta({ ...inject('place'), hosts: laneHosts() });

/** The same, with hosts that are as new. */
export async function openLane(): Promise<Meta> {
  const meta = await enterLane();
  await freshenLane(meta);
  return meta;
}
