import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { parseLimits } from '#operations/limits.ts';
import { type WebhookWorld, webhookWorld } from './testing/webhook-world.ts';

/** Tests of the site's limits for a user of kubectl. */
let world: WebhookWorld;
const namespace = `limited-${randomUUID().slice(0, 8)}`;
const key = (name: string) => ({ namespace, name });
const object = (name: string, ...ips: string[]): KubernetesCluster => ({
  metadata: key(name),
  spec: { cluster: { masterList: ips.map((ip) => ({ ip })) } },
});
const create = (cluster: KubernetesCluster, dryRun = false) =>
  world.clients.alice.create(KUBERNETES_CLUSTERS, cluster, { dryRun });
const limit = (text: string) => {
  world.limits.now = parseLimits(text);
};

beforeAll(async () => {
  world = await webhookWorld(namespace);
  limit('default: { networks: [10.8.0.0/16], clusters: 1, hosts: 1 }');
  // The API server loads new webhooks after a moment.
  const isJudged = () =>
    create(object('probe', '192.0.2.1'), true).then(
      () => false,
      () => true,
    );
  await vi.waitUntil(isJudged, { timeout: 20_000, interval: 100 });
});
afterAll(() => world.stop());

it('limits the networks, clusters and hosts of a namespace', async () => {
  await expect(create(object('a', '192.0.2.1'))).rejects.toThrow(
    /masterList\[0\]\.ip: 192\.0\.2\.1 is in no network .*10\.8\.0\.0\/16/,
  );
  await create(object('a', '10.8.0.1'));
  await expect(create(object('b', '10.8.0.1'))).rejects.toThrow(
    /metadata\.name: is one more than the 1 clusters/,
  );
  const grown = { spec: { cluster: { nodeList: [{ ip: '10.8.0.2' }] } } };
  const patch = (change: object) =>
    world.clients.alice.patch(KUBERNETES_CLUSTERS, key('a'), change, { type: 'merge' });
  await expect(patch(grown)).rejects.toThrow(/spec\.cluster: .*would have 2, and it may have 1/);
  await expect(patch({ spec: { cluster: { timeout_mins: '999999' } } })).rejects.toThrow(
    /timeout_mins: is more than the 1440 minutes/,
  );
  await patch({ metadata: { labels: { team: 'a' } } });
});

it('refuses new hosts while the limits are invalid, but allows a deletion', async () => {
  limit('default: { hosts: all }');
  await expect(create(object('c', '10.8.0.1'))).rejects.toThrow(
    /cannot be checked .* an administrator must correct/,
  );
  await world.clients.alice.delete(KUBERNETES_CLUSTERS, key('a'));
  await expect.poll(() => world.admin.find(KUBERNETES_CLUSTERS, key('a'))).toBeUndefined();
});
