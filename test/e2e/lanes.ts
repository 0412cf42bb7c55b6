import { inject } from 'vitest';
import type { LabHost } from '#lab/hosts/places.ts';
import { type Meta, openMeta } from '#lab/meta/meta.ts';
import { LANE_HOSTS, LANES } from './lane-count.ts';

/** The hosts of the lane that this file runs in. */
export function laneHosts(): LabHost[] {
  const first = ((Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) % LANES) * LANE_HOSTS;
  return inject('place').hosts.slice(first, first + LANE_HOSTS);
}

/** The meta cluster with those hosts. */
export const openLane = (): Promise<Meta> => openMeta({ ...inject('place'), hosts: laneHosts() });
