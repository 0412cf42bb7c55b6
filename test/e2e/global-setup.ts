import type { TestProject } from 'vitest/node';
import { labDown } from '#lab/hosts/down.ts';
import { kubectl } from '#lab/kubectl.ts';
import { metaUp } from '#lab/meta/meta.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** How many lab hosts there are; the first is the meta cluster's. */
    labHosts: number;
  }
}

/** The last one joins the meta cluster where a test wants to lose a node of it. */
const HOSTS = 6;
/** A third of the default: much of what is awaited here is that somebody has looked. */
const LOOK_SECONDS = 10;
const say = (line: string) => process.stderr.write(`${line}\n`);

/** One lab with a meta cluster for a whole run of the `e2e` project. `KEEP=1` leaves it for the next run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const meta = await metaUp(HOSTS, say);
  await meta.close();
  const look = `MATRYOSHKA_HEALTH_INTERVAL_SECONDS=${LOOK_SECONDS}`;
  const controller = ['-n', 'matryoshka-system', 'deployment/matryoshka-controller'];
  await kubectl(meta.kubeconfigPath, ['set', 'env', ...controller, look]);
  project.provide('labHosts', HOSTS);
  return async () => {
    if (process.env['KEEP'] === undefined) await labDown(say);
  };
}
