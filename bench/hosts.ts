import { announced, type Say } from '#lab/artifacts/progress.ts';
import { docker, dockerOrUndefined } from '#lab/hosts/docker.ts';
import { type LabHost, labHosts } from '#lab/hosts/places.ts';
import { labUp } from '#lab/hosts/up.ts';

/** The meta cluster's host, a control plane and two workers. */
export const HOSTS = 4;
const REMOVE_MS = 120_000;
/** No bench has more. */
const MOST = 20;

/**
 * Makes the hosts behind the meta cluster's anew, from the same image, so that nothing of an earlier run is there; more
 * than so many there are not.
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
