import { inject } from 'vitest';
import { type Meta, metaUp, openMeta } from '#lab/meta/meta.ts';
import { LANES } from '../lane-count.ts';
import { laneHosts, openLane } from '../lanes.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);

let up: Promise<Meta> | undefined;
/** Brought up once, beside the tests of other lanes. */
const own = () => (up ??= metaUp(inject('allHosts'), say, { host: inject('allHosts'), name: 'own' }));

/** A meta cluster that nobody else needs, with the hosts of this lane. */
export async function openOwn(): Promise<Meta> {
  if (LANES === 1) return openLane();
  return openMeta({ ...(await own()), hosts: laneHosts() });
}
