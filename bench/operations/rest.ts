import { z } from 'zod';
import { sleep } from '#base/clock.ts';
import { docker } from '#lab/hosts/docker.ts';

const nodeList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({
        conditions: z.array(
          z.object({ type: z.string(), status: z.string(), lastTransitionTime: z.string() }),
        ),
      }),
    }),
  ),
});

/** When the node was last seen to become Ready, or not: unchanged, it was Ready all the time. */
export async function readySince(master: string, node: string): Promise<string> {
  const out = await docker([
    ...['exec', master, 'kubectl', '--kubeconfig=/etc/kubernetes/admin.conf', '--cache-dir=/dev/shm/kube'],
    ...['get', 'nodes', '-o', 'json'],
  ]);
  const { items } = nodeList.parse(JSON.parse(out));
  const ready = items
    .find(({ metadata }) => metadata.name === node)
    ?.status.conditions.find(({ type }) => type === 'Ready');
  return `${ready?.status} since ${ready?.lastTransitionTime}`;
}

const cpuSecondsOf = async (host: string, pattern: string): Promise<{ cpu: number; rssMiB: number }> => {
  const script = `pid=$(pgrep -f '${pattern}' | head -1); awk '{ print $14 + $15 }' /proc/$pid/stat; awk '/^VmRSS/ { print $2 }' /proc/$pid/status`;
  const [ticks = Number.NaN, kib = Number.NaN] = (await docker(['exec', host, 'sh', '-c', script]))
    .trim()
    .split('\n')
    .map(Number);
  return { cpu: ticks / 100, rssMiB: kib / 1024 };
};

/** The operator's part of a core and its memory, over so long a time in which nobody asks anything of it. */
export async function atRest(host: string, seconds: number): Promise<{ ofACore: number; rssMiB: number }> {
  const pattern = '[m]atryoshka.js controller';
  const before = await cpuSecondsOf(host, pattern);
  await sleep(seconds * 1000);
  const after = await cpuSecondsOf(host, pattern);
  return { ofACore: (after.cpu - before.cpu) / seconds, rssMiB: after.rssMiB };
}
