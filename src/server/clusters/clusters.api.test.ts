import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { annotations, labels } from '#api/names.ts';
import { runningOperation } from '#api/testing/running-operation.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { key, alice, path, host, body, create, secretOf } = asksOfAlice(() => world);
/** Returns a cluster as the controller leaves it after a creation. */
async function created(name: string, operation?: object): Promise<KubernetesCluster> {
  await create(name);
  const cluster = await world.created(name);
  if (operation) await runs(name, operation);
  return cluster;
}

async function runs(name: string, operation: object): Promise<void> {
  const cluster = await world.cluster(name);
  const present = runningOperation({ ...(cluster ? { spec: cluster.spec } : {}), ...operation });
  const where = { namespace: world.namespace, name };
  await world.admin.patch(
    KUBERNETES_CLUSTERS,
    where,
    { status: { operation: present } },
    { type: 'merge', subresource: 'status' },
  );
}

describe('POST a cluster', () => {
  it('creates the object with its operation annotation, and a Secret with the key', async () => {
    const answer = await create('demo', { timeoutMins: '30', region: 'north', kubeVersion: '' });
    expect(answer).toMatchObject({ status: 200, body: { code: 'OK', message: 'success' } });
    expect(answer.headers['location']).toBe(`/api/v1/region/north/cluster/demo?namespace=${world.namespace}`);
    const cluster = await world.cluster('demo');
    expect(cluster).toMatchObject({
      metadata: {
        annotations: {
          [annotations.operation]: 'creating',
          [annotations.requestId]: expect.stringMatching(/^[0-9a-f-]{36}$/),
          [annotations.requestedBy]: `system:serviceaccount:${world.namespace}:alice`,
        },
      },
      spec: {
        cluster: { region: 'north', timeout_mins: '30', credentialsSecret: 'demo-ssh', nodeList: [host(2)] },
      },
    });
    expect(JSON.stringify(cluster)).not.toContain('PRIVATE KEY');
    const secret = await secretOf('demo');
    expect(secretText(secret, 'username')).toBe('root');
    expect(secretText(secret, 'ssh-privatekey')).toBe(`${key.trim()}\n`);
    expect(secret?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'KubernetesCluster', uid: cluster?.metadata.uid }),
    ]);
    expect(secret).toMatchObject({ type: 'Opaque' });
  });

  it('stores kubeadm settings unchanged, and returns 422 for invalid ones', async () => {
    const kubeadm = { certSANs: ['a.example.com'], kubelet: { evictionHard: { 'memory.available': '1Gi' } } };
    expect(await create('set', { kubeadm })).toMatchObject({ status: 200 });
    expect((await world.cluster('set'))?.spec.cluster.kubeadm).toEqual(kubeadm);
    const wrong = {
      certSANs: ['a', 'https://b'],
      kubelet: { staticPodPath: '/tmp' },
      proxy: { httpProxy: 'p' },
    };
    expect(await create('unset', { kubeadm: wrong })).toMatchObject({
      status: 422,
      body: {
        errors: [
          { field: 'kubeadm.certSANs[1]', value: 'https://b' },
          { field: 'kubeadm.kubelet.staticPodPath' },
          { field: 'kubeadm.proxy.httpProxy' },
        ],
      },
    });
    expect(await world.cluster('unset')).toBeUndefined();
  });

  it('accepts any content type, base64 keys and duplicates, and names ignored fields', async () => {
    const answer = await world.call(
      alice(),
      'POST',
      path('lenient'),
      body({
        privateSSHKey: Buffer.from(key).toString('base64'),
        nodeList: [host(2), { ...host(2), user: 'admin' }, { ...host(3), colour: 'red' }],
        shoeSize: 43,
      }),
      { 'content-type': 'application/x-www-form-urlencoded' },
    );
    expect(answer.status).toBe(200);
    expect(answer.headers['warning']).toBe('299 - "ignored unknown fields: nodeList[2].colour, shoeSize"');
    expect((await world.cluster('lenient'))?.spec.cluster.nodeList).toEqual([
      { ...host(2), user: 'admin' },
      host(3),
    ]);
  });

  it('accepts one of two equal creations, and repeats a creation only with retry', async () => {
    const answers = await Promise.all([create('race'), create('race')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await secretOf('race')).toBeDefined();
    const before = await world.cluster('race');
    expect((await create('race')).status).toBe(409);
    const again = await world.call(alice(), 'POST', path('race'), { retry: true, timeoutMins: '90' });
    expect(again.status).toBe(200);
    const after = await world.cluster('race');
    expect(after?.spec.cluster).toMatchObject({ timeout_mins: '90', masterList: [host(1)] });
    expect(after?.metadata.annotations?.[annotations.requestId]).not.toBe(
      before?.metadata.annotations?.[annotations.requestId],
    );
    await runs('race', {});
    expect(await create('race', { retry: true })).toMatchObject({
      status: 409,
      body: { code: 'Conflict', message: 'cluster "race" is busy: creating' },
    });
    const { uid } = after?.metadata ?? {};
    await created('done');
    expect((await create('done', { retry: true })).status).toBe(409);
    expect((await world.cluster('race'))?.metadata.uid).toBe(uid);
  });

  it('returns 409 for a foreign Secret of that name, and creates nothing', async () => {
    await world.admin.create(SECRETS, {
      metadata: { namespace: world.namespace, name: 'taken-ssh' },
      data: {},
    } satisfies Secret);
    expect(await create('taken')).toMatchObject({ status: 409 });
    expect(await world.cluster('taken')).toBeUndefined();
    expect((await secretOf('taken'))?.data).toBeUndefined();
  });
});

describe('scaling', () => {
  const up = (name: string, more: object) => world.call(alice(), 'POST', path(name, '/scaleup'), more);
  const down = (name: string, more: object) => world.call(alice(), 'POST', path(name, '/scaledown'), more);

  it('writes the whole list with the operation annotation, and returns 409 for a busy cluster', async () => {
    const old = await created('wide');
    expect((await up('wide', { nodeList: [host(2), host(3)] })).status).toBe(200);
    const cluster = await world.cluster('wide');
    expect(cluster?.spec.cluster.nodeList).toEqual([host(2), host(3)]);
    expect(cluster?.metadata.annotations?.[annotations.operation]).toBe('scaling-up');
    expect(cluster?.metadata.annotations?.[annotations.requestId]).not.toBe(
      old.metadata.annotations?.[annotations.requestId],
    );
    expect((await up('wide', { nodeList: [host(2), host(4)] })).status).toBe(409);
    // The request carries out what an earlier dry run only planned.
    const key = { namespace: world.namespace, name: 'wide' };
    const planned = { metadata: { annotations: { [annotations.dryRun]: 'All' } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, planned, { type: 'merge' });
    expect((await up('wide', { retry: true })).status).toBe(200);
    expect((await world.cluster('wide'))?.metadata.annotations).not.toHaveProperty([annotations.dryRun]);
    await runs('wide', { name: 'scale-up', word: 'scaling-up' });
    expect((await up('wide', { retry: true })).status).toBe(409);
    // Status shows the end before the operation annotation does.
    const requestId = (await world.cluster('wide'))?.metadata.annotations?.[annotations.requestId] ?? '';
    await runs('wide', { word: 'scaling-up', requestId, result: 'finished' });
    expect((await up('wide', { nodeList: [host(2), host(3), host(4)] })).body).toMatchObject({
      message: expect.stringMatching(/is busy: scaling-up has ended, .* ask again/),
    });
    // A failed scale-up can be partly reverted.
    await runs('wide', { name: 'scale-up', word: 'scaling-up', result: 'failed' });
    const { namespace } = world;
    const failed = { metadata: { annotations: { [annotations.operation]: 'scale-up-failed' } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, { namespace, name: 'wide' }, failed, { type: 'merge' });
    expect((await down('wide', { nodeList: [host(2)] })).status).toBe(200);
  });

  it.each<[string, 'up' | 'down', object, object]>([
    ['no list', 'up', {}, { field: 'nodeList' }],
    ['a list that drops a host', 'up', { nodeList: [host(3)] }, { field: 'nodeList', value: host(2).ip }],
    ['a list that adds a host', 'down', { nodeList: [host(2), host(3)] }, { field: 'nodeList' }],
    ['a list that keeps all', 'down', { nodeList: [host(2)] }, { field: 'nodeList' }],
    ['an empty list', 'down', { nodeList: [] }, { field: 'nodeList' }],
    ['a host of a CIDR', 'up', { nodeList: [host(2), { ip: '10.96.0.4' }] }, { field: 'nodeList[1].ip' }],
  ])('refuses %s (scale-%s)', async (_what, way, more, problem) => {
    if (!(await world.cluster('narrow'))) await created('narrow');
    const answer = way === 'up' ? await up('narrow', more) : await down('narrow', more);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ errors: expect.arrayContaining([expect.objectContaining(problem)]) });
    expect((await world.cluster('narrow'))?.spec.cluster.nodeList).toEqual([host(2)]);
  });

  it('removes all workers with allowEmpty, and returns 404 for a missing cluster', async () => {
    await created('empty');
    expect((await down('empty', { nodeList: [], allowEmpty: true })).status).toBe(200);
    expect((await world.cluster('empty'))?.spec.cluster.nodeList).toEqual([]);
    expect((await up('nosuch', { nodeList: [host(3)] })).status).toBe(404);
    const south = `/region/south/cluster/empty/scaleup?namespace=${world.namespace}`;
    expect((await world.call(alice(), 'POST', south, { nodeList: [host(3)] })).status).toBe(404);
    await create('young');
    const where = { namespace: world.namespace, name: 'young' };
    const answered = { metadata: { annotations: { [annotations.operation]: 'create-failed' } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, answered, { type: 'merge' });
    expect((await up('young', { nodeList: [host(2), host(3)] })).status).toBe(422);
  });
});

describe('reading and deleting', () => {
  it('returns an object, and lists objects in pages', async () => {
    await create('shown');
    const one = await world.call(alice(), 'GET', path('shown'));
    expect(one.body).toMatchObject({ metadata: { name: 'shown' }, spec: { cluster: { region: 'north' } } });
    expect(one.text).not.toContain('managedFields');
    const names: string[] = [];
    let from = '';
    do {
      const page = await world.call(alice(), 'GET', `/clusters?namespace=${world.namespace}&limit=2${from}`);
      const { items, continue: next } = page.body as { items: KubernetesCluster[]; continue?: string };
      expect(items.length).toBeLessThanOrEqual(2);
      names.push(...items.map(({ metadata }) => metadata.name ?? ''));
      from = next === undefined ? '' : `&continue=${encodeURIComponent(next)}`;
    } while (from !== '');
    expect(names).toContain('shown');
    expect(new Set(names).size).toBe(names.length);
  });

  it('lists clusters by name and by label', async () => {
    await create('named');
    const key = { namespace: world.namespace, name: 'named' };
    const patch = { metadata: { labels: { team: 'blue' } } };
    await world.admin.patch(KUBERNETES_CLUSTERS, key, patch, { type: 'merge' });
    const names = async (query: string) => {
      const { status, body } = await world.call(
        alice(),
        'GET',
        `/clusters?namespace=${world.namespace}&${query}`,
      );
      expect(status).toBe(200);
      return (body as { items: KubernetesCluster[] }).items.map(({ metadata }) => metadata.name);
    };
    expect(await names('name=named')).toEqual(['named']);
    expect(await names('name=unnamed')).toEqual([]);
    expect(await names('labelSelector=team%3Dblue')).toEqual(['named']);
    expect(await names('labelSelector=team%3Dred')).toEqual([]);
    const url = `/clusters?namespace=${world.namespace}&labelSelector=a%3D%3D%3Db`;
    expect(await world.call(alice(), 'GET', url)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'labelSelector', value: 'a===b' }] },
    });
  });

  it('returns the kubeconfig only from a Secret of the cluster', async () => {
    const get = (name: string, headers = {}) =>
      world.call(alice(), 'GET', path(name, '/kubeconfig'), undefined, headers);
    expect((await get('unknown')).status).toBe(404);
    const { metadata } = await created('keyed');
    expect(await get('keyed')).toMatchObject({
      status: 409,
      body: { message: 'cluster "keyed" has no kubeconfig yet; it was not created' },
    });
    const secret = (uid: string): Secret => ({
      metadata: {
        namespace: world.namespace,
        name: 'keyed-kubeconfig',
        labels: { [labels.purpose]: 'access' },
        ownerReferences: [{ apiVersion: 'ecs.yun.com/v1', kind: 'KubernetesCluster', name: 'keyed', uid }],
      },
      data: secretData({ value: 'kind: Config\n' }),
    });
    await world.admin.create(SECRETS, secret('00000000-0000-0000-0000-000000000000'));
    expect((await get('keyed')).status).toBe(409);
    await world.admin.delete(SECRETS, { namespace: world.namespace, name: 'keyed-kubeconfig' });
    await world.admin.create(SECRETS, secret(metadata.uid ?? ''));
    const found = await get('keyed');
    expect(found).toMatchObject({ status: 200, text: 'kind: Config\n' });
    expect(found.headers).toMatchObject({
      'content-type': expect.stringContaining('application/yaml'),
      'cache-control': 'no-store',
    });
    const envelope = await get('keyed', { accept: 'application/json' });
    expect(envelope.body).toEqual({ code: 'OK', message: 'kind: Config\n' });
    expect((await world.call(world.tokens.bob, 'GET', path('keyed', '/kubeconfig'))).status).toBe(403);
  });

  it('deletes a cluster, and requests a failed deletion again', async () => {
    await create('gone');
    const { namespace } = world;
    const where = { namespace, name: 'gone' };
    const held = { metadata: { finalizers: ['kubernetescluster.ecs.yun.com/gone'] } };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, held, { type: 'merge' });
    expect((await world.call(alice(), 'DELETE', path('gone'))).status).toBe(200);
    expect((await world.cluster('gone'))?.metadata.deletionTimestamp).toBeDefined();
    const found = (await world.cluster('gone'))?.metadata.annotations;
    expect(found?.[annotations.deletedBy]).toMatch(/^20\S+Z system:serviceaccount:\S+:alice$/);
    expect((await create('gone')).status).toBe(409);
    const before = (await world.cluster('gone'))?.metadata.annotations?.[annotations.requestId];
    expect((await world.call(alice(), 'DELETE', path('gone'), { retry: true })).status).toBe(200);
    const after = (await world.cluster('gone'))?.metadata.annotations;
    expect(after?.[annotations.operation]).toBe('terminating');
    expect(after?.[annotations.requestId]).not.toBe(before);
    await runs('gone', { name: 'delete', word: 'terminating' });
    expect((await world.call(alice(), 'DELETE', path('gone'), { retry: true })).status).toBe(409);
    await world.admin.patch(KUBERNETES_CLUSTERS, where, { metadata: { finalizers: [] } }, { type: 'merge' });
    await expect.poll(() => world.cluster('gone')).toBeUndefined();
    expect((await world.call(alice(), 'DELETE', path('gone'))).status).toBe(404);
    // The Secret may still exist when the next cluster of that name is created: it then belongs to the new one.
    expect((await create('gone')).status).toBe(200);
    const { uid } = (await world.cluster('gone'))?.metadata ?? {};
    expect((await secretOf('gone'))?.metadata.ownerReferences).toEqual([expect.objectContaining({ uid })]);
  });
});
