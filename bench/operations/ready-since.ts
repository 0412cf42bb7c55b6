import { z } from 'zod';
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

/** Returns status and last transition of each node's Ready condition, by name. An unchanged node was Ready all the time. */
export async function readySince(master: string): Promise<Map<string, string>> {
  const out = await docker([
    ...['exec', master, 'kubectl', '--kubeconfig=/etc/kubernetes/admin.conf', '--cache-dir=/dev/shm/kube'],
    ...['get', 'nodes', '-o', 'json'],
  ]);
  return new Map(
    nodeList.parse(JSON.parse(out)).items.map(({ metadata, status }) => {
      const ready = status.conditions.find(({ type }) => type === 'Ready');
      return [metadata.name, `${ready?.status} since ${ready?.lastTransitionTime}`];
    }),
  );
}
