import { announced, type Say } from '#lab/artifacts/progress.ts';
import { docker, dockerOrUndefined } from '#lab/hosts/docker.ts';
import { type LabHost, labHosts } from '#lab/hosts/places.ts';
import { labUp } from '#lab/hosts/up.ts';

/** The meta cluster's host, a control plane and two workers. */
export const HOSTS = 4;
const REMOVE_MS = 120_000;
/** Maximum number of hosts of a bench. */
const MOST = 20;

/**
 * Recreates the hosts behind the meta cluster from the same image, so that they have no leftovers of an earlier run. Removes
 * hosts above `count`.
 */
export async function freshHosts(say: Say, count = HOSTS): Promise<LabHost[]> {
  const old = labHosts(Math.max(count, MOST))
    .slice(1)
    .map(({ name }) => name);
  await announced(say, 'fresh hosts', async () => {
    for (const name of old) {
      if ((await dockerOrUndefined(['inspect', '--format={{.Id}}', name])) === undefined) continue;
      await docker(['rm', '-f', '-v', name], REMOVE_MS);
    }
    await labUp(count, () => {});
  });
  return labHosts(count).slice(1);
}
