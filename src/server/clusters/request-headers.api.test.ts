import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations } from '#api/names.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

/** Headers by which a client repeats a request, follows it, and chooses the form of the answer. */
let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { alice, path, body, create } = asksOfAlice(() => world);
/** Returns a cluster as the controller leaves it after a creation. */
async function created(name: string): Promise<KubernetesCluster> {
  await create(name);
  return world.created(name);
}

describe('a request with headers of its own', () => {
  it('requests an operation once for a key, of each user', async () => {
    await created('keyless');
    const ask = (key: string, who = alice(), verb = '/renew') =>
      world.call(who, 'POST', path('keyless', verb), {}, { 'idempotency-key': key });
    const first = await ask('one');
    expect(first.status).toBe(200);
    const version = (await world.cluster('keyless'))?.metadata.resourceVersion;
    expect((await ask('one')).body).toEqual(first.body);
    expect((await world.cluster('keyless'))?.metadata.resourceVersion).toBe(version);
    expect((await ask('two')).status).toBe(409);
    expect((await ask('one', alice(), '/repair')).body).toMatchObject({
      errors: [{ field: 'Idempotency-Key', reason: expect.stringContaining('"renewing"') }],
    });
    const named = { name: 'keyless' };
    const other = await world.call(alice(), 'POST', path('keyless', '/renew'), named, {
      'idempotency-key': 'one',
    });
    expect(other).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'Idempotency-Key', reason: expect.stringContaining('with another body') }] },
    });
    expect((await ask('a b')).status).toBe(400);
    // The end of the operation takes the request out of the annotations, and status remembers it.
    const key = { namespace: world.namespace, name: 'keyless' };
    const { requestId } = first.body as { requestId: string };
    const requests = [{ word: 'renewing', requestId, specHash: 'x', sequence: 2, result: 'finished' }];
    const merge = { type: 'merge' } as const;
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      key,
      { status: { requests } },
      { ...merge, subresource: 'status' },
    );
    const ended = { [annotations.operation]: 'renew-finished', [annotations.requestId]: 'other' };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, { metadata: { annotations: ended } }, merge);
    expect((await ask('one')).body).toEqual(first.body);
    expect((await world.cluster('keyless'))?.metadata.annotations).toMatchObject(ended);
  });

  it('creates a cluster once for a key, and completes a creation that was cut short', async () => {
    const asked = body();
    const ask = () => world.call(alice(), 'POST', path('once'), asked, { 'idempotency-key': 'mine' });
    const first = await ask();
    expect(first.status).toBe(200);
    expect((await ask()).body).toEqual(first.body);
    expect((await world.call(alice(), 'POST', path('once'), asked)).status).toBe(409);
    const key = { namespace: world.namespace, name: 'once' };
    const cut = { metadata: { annotations: { [annotations.operation]: null } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, cut, { type: 'merge' });
    expect((await ask()).body).toEqual(first.body);
    expect((await world.cluster('once'))?.metadata.annotations?.[annotations.operation]).toBe('creating');
  });

  /** Creates a cluster. Its last write fails, after `meanwhile`. Returns the request, for a repetition. */
  async function broken(
    name: string,
    meanwhile: (ask: () => ReturnType<RestWorld['call']>) => Promise<void>,
  ) {
    const asked = body();
    const ask = () => world.call(alice(), 'POST', path(name), asked, { 'idempotency-key': name });
    const write = vi.spyOn(world.client, 'patch').mockImplementationOnce(async () => {
      await meanwhile(ask);
      throw new ApiError('Connection', 'the connection was reset', { status: 0 });
    });
    expect((await ask()).status).toBeGreaterThanOrEqual(500);
    write.mockRestore();
    return ask;
  }

  it('removes the object of a creation that fails', async () => {
    const ask = await broken('broken', async () => {});
    expect(await world.cluster('broken')).toBeUndefined();
    expect((await ask()).status).toBe(200);
  });

  it('keeps the object of a creation that fails if its repetition was accepted', async () => {
    await broken('repeated', async (ask) => expect((await ask()).status).toBe(200));
    expect((await world.cluster('repeated'))?.metadata.annotations?.[annotations.operation]).toBe('creating');
  });

  it('answers with the path of the operation if the client prefers that', async () => {
    await created('asynchronous');
    const prefer = { prefer: 'wait=5, Respond-Async' };
    const asked = await world.call(alice(), 'POST', path('asynchronous', '/renew'), {}, prefer);
    const { requestId } = asked.body as { requestId: string };
    expect(asked).toMatchObject({ status: 202, headers: { 'preference-applied': 'respond-async' } });
    const location = String(asked.headers['location']);
    expect(location).toContain(`/operations/${requestId}?`);
    expect(await world.call(alice(), 'GET', location.replace('/api/v1', ''))).toMatchObject({
      status: 200,
      body: { id: requestId, operation: 'renew', result: 'waiting' },
    });
    const other = location.replace('/api/v1', '').replace(requestId, 'other');
    expect((await world.call(alice(), 'GET', other)).status).toBe(404);
  });

  it('answers with problem details if the client accepts them', async () => {
    const accept = { accept: 'application/problem+json' };
    const busy = await world.call(alice(), 'POST', path('once', '/renew'), {}, accept);
    expect(busy).toMatchObject({
      status: 409,
      headers: { 'content-type': expect.stringContaining('application/problem+json') },
      body: {
        type: '/docs/errors#cluster-busy',
        title: 'An operation of the cluster runs or waits',
        status: 409,
        detail: expect.stringMatching(
          /^cluster "once" is busy: creating was asked by .*:alice and did not start yet$/,
        ),
      },
    });
    const wrong = await world.call(
      alice(),
      'POST',
      path('once', '/scaleup'),
      { nodeList: [{ ip: 'x' }] },
      accept,
    );
    expect(wrong.body).toMatchObject({ type: '/docs/errors#invalid', errors: [{ field: 'nodeList[0].ip' }] });
    const page = await world.app.inject({ url: '/docs/errors' });
    expect(page.body).toContain('<h2 id="cluster-busy">');
  });

  it('answers a request with the id that its operation has', async () => {
    const { metadata } = await created('asked');
    const answer = await world.call(alice(), 'POST', path('asked', '/renew'), {});
    const { requestId } = answer.body as { requestId: string };
    expect(requestId).not.toBe(metadata.annotations?.[annotations.requestId]);
    expect((await world.cluster('asked'))?.metadata.annotations?.[annotations.requestId]).toBe(requestId);
  });
});
