import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { isApiError } from '#runtime/wire/api-error.ts';
import { type WebhookWorld, webhookWorld } from './testing/webhook-world.ts';

/** Tests of the permissions for hooks, which control hosts, and for settings, which control a cluster. */
let world: WebhookWorld;
const namespace = `hooks-${randomUUID().slice(0, 8)}`;

beforeAll(async () => {
  world = await webhookWorld(namespace);
  // The API server loads new webhooks after a moment.
  const isJudged = async () =>
    (await verdict(world.clients.alice, object('probe', { cluster: { masterList: [] } }))) !== 'allowed';
  await vi.waitUntil(isJudged, { timeout: 20_000, interval: 100 });
});
afterAll(() => world.stop());

const spec = (): KubernetesCluster['spec'] => ({ cluster: { masterList: [{ ip: '10.8.1.1' }] } });
const object = (name: string, wanted: KubernetesCluster['spec']): KubernetesCluster => ({
  metadata: { namespace, name },
  spec: wanted,
});

/** Returns the API server's answer to a dry run of a creation. */
async function verdict(client: Client, cluster: KubernetesCluster): Promise<string> {
  try {
    await client.create(KUBERNETES_CLUSTERS, cluster, { dryRun: true });
    return 'allowed';
  } catch (error) {
    if (isApiError(error, 'Invalid', 'Forbidden', 'BadRequest')) return error.message;
    throw error;
  }
}

const patch = (who: Client, name: string, change: object) =>
  who.patch<KubernetesCluster>(KUBERNETES_CLUSTERS, { namespace, name }, change, { type: 'merge' });
const word = (value: string) => ({ metadata: { annotations: { [annotations.operation]: value } } });

it('requires the hook permission for every change that runs hooks again', async () => {
  const { alice, bob } = world.clients;
  const hooks = (configMap: string) => ({
    hooks: { preCreate: [{ configMap, key: 'a', sha256: '0'.repeat(64) }] },
  });
  const hooked = (configMap: string) => object('hooked', { ...spec(), ...hooks(configMap) });
  const lacks = /spec\.hooks: .*may not hook kubernetesclusters\.ecs\.yun\.com "hooked"/;
  expect(await verdict(bob, hooked('addons'))).toMatch(lacks);
  expect(await verdict(alice, hooked('theirs'))).toMatch(/spec\.hooks: .*get configmaps "theirs"/);
  await alice.create(KUBERNETES_CLUSTERS, object('hooked', spec()));
  await expect(patch(bob, 'hooked', { spec: hooks('addons') })).rejects.toThrow(lacks);
  await patch(alice, 'hooked', { spec: hooks('addons') });
  await expect(patch(bob, 'hooked', word('creating'))).rejects.toThrow(lacks);
  const otherKey = { spec: { cluster: { credentialsSecret: 'other' } } };
  await expect(patch(bob, 'hooked', otherKey)).rejects.toThrow(lacks);
  await patch(bob, 'hooked', { spec: { paused: true } });
  await patch(alice, 'hooked', word('creating'));
  world.offer.hooks = false;
  await expect(patch(alice, 'hooked', { spec: { history: 3 } })).rejects.toThrow(
    /spec\.hooks.*--allow-hooks/,
  );
  await patch(alice, 'hooked', { spec: { hooks: null } });
  world.offer.hooks = true;
});

it('requires the kubeconfig permission for edits of privileged settings', async () => {
  const { alice, bob } = world.clients;
  await alice.create(KUBERNETES_CLUSTERS, object('ruled', spec()));
  const patches = [{ target: 'kube-apiserver', merge: {} }];
  const open = { spec: { cluster: { kubeadm: { patches } } } };
  await expect(patch(bob, 'ruled', open)).rejects.toThrow(/get kubernetesclusters\/kubeconfig.* "ruled"/);
  await patch(bob, 'ruled', { spec: { paused: true } });
});

it('requires the kubeconfig permission for a restore, and for another key of snapshots', async () => {
  const { alice, bob } = world.clients;
  const lacks = /get kubernetesclusters\/kubeconfig.* "saved"/;
  const key = (secret: string | null) => ({ spec: { etcdSnapshots: { secret } } });
  const restore = {
    [annotations.operation]: 'restoring',
    [annotations.snapshot]: '20261129t020000z-7',
    [annotations.confirmDataLossSince]: '2026-11-29T02:00:00Z',
  };
  await world.created('saved', spec());
  for (const who of [alice, bob]) {
    await expect(patch(who, 'saved', key('theirs'))).rejects.toThrow(lacks);
    await expect(patch(who, 'saved', { metadata: { annotations: restore } })).rejects.toThrow(lacks);
  }
  await patch(alice, 'saved', { spec: { etcdSnapshots: { schedule: '0 3 * * *' } } });
  // Alice has the permission for this name.
  await world.created('filed', spec());
  await patch(alice, 'filed', key('theirs'));
  await expect(patch(bob, 'filed', key(null))).rejects.toThrow(/spec\.etcdSnapshots\.secret: /);
  await patch(alice, 'filed', { metadata: { annotations: restore } });
  for (const change of [
    { [annotations.snapshot]: '20261128t020000z-6' },
    { [annotations.requestId]: 'another' },
    { [annotations.confirmDataLossSince]: null },
  ])
    await expect(patch(bob, 'filed', { metadata: { annotations: change } })).rejects.toThrow(
      /operation\]: .*for "restoring", which can give as much/,
    );
  await patch(bob, 'filed', { metadata: { labels: { team: 'a' } } });
});
