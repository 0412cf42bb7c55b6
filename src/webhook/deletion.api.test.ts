import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { type WebhookWorld, webhookWorld } from './testing/webhook-world.ts';

/** Tests of the annotations that only the controller may write, during a deletion and at a creation. */
let world: WebhookWorld;
const namespace = `deleting-${randomUUID().slice(0, 8)}`;
const key = (name: string) => ({ namespace, name });
const object = (name: string, marked: Record<string, string> = {}): KubernetesCluster => ({
  metadata: { ...key(name), annotations: marked },
  spec: { cluster: { masterList: [{ ip: '10.8.1.1' }] } },
});
const patch = (who: Client, name: string, change: object) =>
  who.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, key(name), change, { type: 'merge' });
const marked = (annotation: string, value: string | null) => ({
  metadata: { annotations: { [annotation]: value } },
});

beforeAll(async () => {
  world = await webhookWorld(namespace);
  // The API server loads new webhooks after a moment.
  const isJudged = () =>
    world.clients.alice
      .create(KUBERNETES_CLUSTERS, object('probe', { [annotations.applied]: '{}' }), {
        dryRun: true,
      })
      .then(
        () => false,
        () => true,
      );
  await vi.waitUntil(isJudged, { timeout: 20_000, interval: 100 });
});
afterAll(() => world.stop());

it('guards the annotations of a cluster during its deletion, and lets the deletion finish', async () => {
  const { alice, controller } = world.clients;
  await controller.create(KUBERNETES_CLUSTERS, object('going', { [annotations.clusterId]: 'id-going' }));
  await patch(alice, 'going', { metadata: { finalizers: ['kubernetescluster.ecs.yun.com/going'] } });
  await alice.delete(KUBERNETES_CLUSTERS, key('going'));
  for (const forged of [
    marked(annotations.clusterId, 'id-other'),
    marked(annotations.clusterId, null),
    marked(annotations.applied, '{}'),
    marked(annotations.operation, 'create-finished'),
  ])
    await expect(patch(alice, 'going', forged)).rejects.toThrow(/controller/);
  await patch(alice, 'going', { metadata: { labels: { note: 'mine' } } });
  await patch(controller, 'going', marked(annotations.operation, 'delete-failed'));
  await patch(alice, 'going', { metadata: { finalizers: [] } });
  await expect.poll(() => alice.find(KUBERNETES_CLUSTERS, key('going'))).toBeUndefined();
});

it('refuses an invalid cluster-id, by its field', async () => {
  const created = world.clients.alice.create(
    KUBERNETES_CLUSTERS,
    object('odd', { [annotations.clusterId]: 'a/b' }),
  );
  await expect(created).rejects.toThrow(/cluster-id\].*is no cluster-id, which is letters, digits and "-"/);
});
