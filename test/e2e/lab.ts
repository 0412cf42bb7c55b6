import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Say } from '#lab/artifacts/progress.ts';
import { docker } from '#lab/hosts/docker.ts';
import { labDir } from '#lab/hosts/places.ts';
import { kubectl } from '#lab/kubectl.ts';
import { type MetaPlace, metaUp } from '#lab/meta/meta.ts';
import { LANE_HOSTS, LANES } from './lane.ts';

/** A third of the default, because many tests wait for a probe. */
const POLL_SECONDS = 10;
/** File through which `make e2e` hands the shared lab to its runs of vitest. The lab's folder keeps the keys private. */
const placePath = join(labDir, 'e2e.json');

const hostSchema = z.object({ name: z.string(), ip: z.string() });
const placeSchema = z.object({
  hosts: z.array(hostSchema),
  host: hostSchema,
  restUrl: z.string(),
  artifactsUrl: z.string(),
  kubeconfigPath: z.string(),
  privateKey: z.string(),
  token: z.string(),
  ca: z.string(),
});

/** Starts a meta cluster with hosts for all lanes, and one outside of them. */
export async function startLab(say: Say): Promise<MetaPlace> {
  const { client: _, rest: __, close, ...place } = await metaUp(2 + LANES * LANE_HOSTS, say);
  await close();
  // In production the meta cluster does not share processors with the hosts of all clusters, which wait for it.
  await docker(['update', '--cpu-shares=4096', `--cpus=${availableParallelism()}`, place.host.name]);
  const set = (name: string, ...settings: string[]) =>
    kubectl(place.kubeconfigPath, [
      ...['-n', 'matryoshka-system', 'set', 'env', `deployment/matryoshka-${name}`],
      ...settings,
    ]);
  // Hooks are off by default in an installation.
  const hooks = 'MATRYOSHKA_ALLOW_HOOKS=true';
  await set('controller', hooks, `MATRYOSHKA_HEALTH_INTERVAL_SECONDS=${POLL_SECONDS}`);
  await set('server', hooks);
  await set('webhook', hooks);
  // Waits for the rollouts, because some tests count pods.
  for (const name of ['controller', 'server', 'webhook'])
    await kubectl(
      place.kubeconfigPath,
      ['-n', 'matryoshka-system', 'rollout', 'status', `deployment/matryoshka-${name}`, '--timeout=120s'],
      { timeoutMs: 130_000 },
    );
  return place;
}

/** Writes the file of the shared lab and returns its path, which the environment of vitest names. */
export async function shareLab(place: MetaPlace): Promise<string> {
  await writeFile(placePath, JSON.stringify(place), { mode: 0o600 });
  return placePath;
}

export const sharedLab = async (path: string): Promise<MetaPlace> =>
  placeSchema.parse(JSON.parse(await readFile(path, 'utf8')));
