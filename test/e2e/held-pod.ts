import { z } from 'zod';
import { CONFIG_MAPS } from '#api/core.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { seen } from '#lab/meta/faults.ts';
import type { Client } from '#runtime/client/client.ts';

const PODS: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
const BUDGETS: Resource = {
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  namespaced: true,
};
const runningSchema = z.object({ status: z.object({ phase: z.literal('Running') }) });
const judgedSchema = z.object({
  status: z.object({ disruptionsAllowed: z.literal(0), expectedPods: z.literal(1) }),
});

/**
 * Creates a pod on that node with a controller, and a disruption budget that never allows its eviction, all named `held`.
 * Returns a function that removes them.
 */
export async function holdPod(client: Client, nodeName: string): Promise<() => Promise<void>> {
  const key = { namespace: 'default', name: 'held' };
  const labels = { app: 'held' };
  const apply = <T extends KubeObject>(resource: Resource, object: T) =>
    client.apply<T>(resource, object, { fieldManager: 'e2e', force: true });
  // A drain refuses a pod without a controller of any kind before it checks a budget.
  const owner = await apply<KubeObject>(CONFIG_MAPS, { metadata: key });
  const { uid = '' } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'held', uid, controller: true }];
  const objects: [Resource, KubeObject & Record<string, unknown>][] = [
    [
      PODS,
      {
        metadata: { ...key, labels, ownerReferences },
        spec: { nodeName, containers: [{ name: 'pause', image: 'registry.k8s.io/pause:3.10.1' }] },
      },
    ],
    [BUDGETS, { metadata: key, spec: { minAvailable: 1, selector: { matchLabels: labels } } }],
  ];
  for (const [resource, object] of objects) await apply(resource, object);
  const shows = async (resource: Resource, schema: z.ZodType) =>
    schema.safeParse(await client.get(resource, key)).success;
  await seen('the pod that is held', () => shows(PODS, runningSchema));
  await seen('its budget', () => shows(BUDGETS, judgedSchema));
  return async () => {
    for (const [resource] of objects.toReversed()) await client.delete(resource, key);
    await client.delete(CONFIG_MAPS, key);
  };
}
