import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

/** Requests that take a whole field, or that replace the data of a cluster. */
let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, create } = asksOfAlice(() => world);
const NAME = '20261129t020000z-7';

describe('POST reconfigure', () => {
  it('sets the settings to exactly those of the body', async () => {
    const kubeadm = { certSANs: ['a.example.com'], kubelet: { maxPods: 50, podPidsLimit: 100 } };
    await create('settings', { kubeadm });
    await world.created('settings');
    const ask = (body: object) => world.call(alice(), 'POST', path('settings', '/reconfigure'), body);
    expect(await ask({})).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'kubeadm', reason: 'is required, unless network is given' }] },
    });
    expect(await ask({ kubeadm: { encryptionAtRest: true } })).toMatchObject({ status: 422 });
    expect(await ask({ kubeadm: { kubelet: { maxPods: 60 } } })).toMatchObject({ status: 200 });
    const found = await world.cluster('settings');
    expect(found?.metadata.annotations?.[annotations.operation]).toBe('reconfiguring');
    expect(found?.spec.cluster.kubeadm).toEqual({ kubelet: { maxPods: 60 } });
  });

  it('changes the pod network and nothing else', async () => {
    const kubeadm = { certSANs: ['a.example.com'] };
    await create('networked', { kubeadm });
    await world.created('networked');
    const ask = (body: object) => world.call(alice(), 'POST', path('networked', '/reconfigure'), body);
    expect(await ask({ network: 'none' })).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'network' }] },
    });
    expect(await ask({ network: 'flannel-policies' })).toMatchObject({ status: 200 });
    const { cluster, addons } = (await world.cluster('networked'))?.spec ?? {};
    expect([cluster?.kubeadm, addons]).toEqual([kubeadm, { network: 'flannel-policies' }]);
  });
});

describe('POST restore', () => {
  it('needs a confirmation of its own, and a retry does not', async () => {
    await create('restored');
    await world.created('restored');
    const ask = (body: object) => world.call(alice(), 'POST', path('restored', '/restore'), body);
    const confirmed = async () => {
      const { [annotations.snapshot]: snapshot, [annotations.confirmDataLossSince]: since } =
        (await world.cluster('restored'))?.metadata.annotations ?? {};
      return [snapshot, since];
    };
    const since = '2026-11-29T02:00:00Z';
    expect(await ask({ snapshot: NAME, confirmDataLossSince: since })).toMatchObject({ status: 200 });
    expect(await confirmed()).toEqual([NAME, since]);
    expect(await ask({ retry: true })).toMatchObject({ status: 200 });
    expect(await confirmed()).toEqual([NAME, since]);
    // As if a controller had left them.
    const ended = { metadata: { annotations: { [annotations.operation]: 'restore-finished' } } };
    const where = { namespace: world.namespace, name: 'restored' };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, ended, { type: 'merge' });
    const bare = await ask({ snapshot: NAME });
    expect(bare).toMatchObject({ status: 422 });
    expect(JSON.stringify(bare.body)).toContain('"field":"confirmDataLossSince"');
  });
});
