import type { TestProject } from 'vitest/node';
import { docker } from '#lab/hosts/docker.ts';
import { labDown } from '#lab/hosts/down.ts';
import { kubectl } from '#lab/kubectl.ts';
import { type MetaPlace, metaUp } from '#lab/meta/meta.ts';
import { LANE_HOSTS, LANES } from './lane-count.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The meta cluster, with a host of no lane and those of all lanes. */
    place: MetaPlace;
  }
}

/** A third of the default: much of what is awaited here is that somebody has looked. */
const LOOK_SECONDS = 10;
const say = (line: string) => process.stderr.write(`${line}\n`);

declare global {
  /** Each project of a run sets up, in the same process. */
  var matryoshkaLab: Promise<MetaPlace> | undefined;
}

/** One lab with a meta cluster for a whole run of the `e2e` projects. `KEEP=1` leaves it for the next run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  globalThis.matryoshkaLab ??= lab();
  project.provide('place', await globalThis.matryoshkaLab);
  return async () => {
    if (process.env['KEEP'] === undefined) await labDown(say);
  };
}

async function lab(): Promise<MetaPlace> {
  const { client: _, rest: __, close, ...place } = await metaUp(2 + LANES * LANE_HOSTS, say);
  await close();
  // On machines of its own it would not share processors with the hosts of all clusters, which wait for it.
  await docker(['update', '--cpu-shares=4096', place.host.name]);
  const set = (name: string, ...settings: string[]) =>
    kubectl(place.kubeconfigPath, [
      ...['-n', 'matryoshka-system', 'set', 'env', `deployment/matryoshka-${name}`],
      ...settings,
    ]);
  // Off in an installation, unless it says so.
  const hooks = 'MATRYOSHKA_ALLOW_HOOKS=true';
  await set('controller', hooks, `MATRYOSHKA_HEALTH_INTERVAL_SECONDS=${LOOK_SECONDS}`);
  await set('server', hooks);
  return place;
}
