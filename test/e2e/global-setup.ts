import type { TestProject } from 'vitest/node';
import { labDown } from '#lab/hosts/down.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { kubectl } from '#lab/kubectl.ts';
import { type MetaPlace, metaUp } from '#lab/meta/meta.ts';
import { LANE_HOSTS, LANES } from './lane-count.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The meta cluster, with the hosts of all lanes. */
    place: MetaPlace;
    /** A host of no lane, that joins the meta cluster where a test wants to lose a node of it. */
    secondNode: LabHost;
  }
}

/** A third of the default: much of what is awaited here is that somebody has looked. */
const LOOK_SECONDS = 10;
const say = (line: string) => process.stderr.write(`${line}\n`);

/** One lab with a meta cluster for a whole run of the `e2e` project. `KEEP=1` leaves it for the next run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const inLanes = LANES * LANE_HOSTS;
  const { client: _, rest: __, close, ...place } = await metaUp(1 + inLanes + 1, say);
  await close();
  const look = `MATRYOSHKA_HEALTH_INTERVAL_SECONDS=${LOOK_SECONDS}`;
  const controller = ['-n', 'matryoshka-system', 'deployment/matryoshka-controller'];
  await kubectl(place.kubeconfigPath, ['set', 'env', ...controller, look]);
  const secondNode = place.hosts[inLanes];
  if (!secondNode) throw new Error('the lab has too few hosts');
  project.provide('place', place);
  project.provide('secondNode', secondNode);
  return async () => {
    if (process.env['KEEP'] === undefined) await labDown(say);
  };
}
