import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONFIG_MAPS, SECRETS, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS } from '#api/kubernetes-cluster.ts';
import { labels } from '#api/names.ts';
import { isApiError, isForbidden } from '#runtime/wire/api-error.ts';
import { asksOfAlice } from '../testing/asks-of-alice.ts';
import { type RestWorld, restWorld } from '../testing/rest-world.ts';

let world: RestWorld;
beforeAll(async () => {
  world = await restWorld();
});
afterAll(() => world.stop());

const { key, alice, path, host, body, create, secretOf } = asksOfAlice(() => world);
const CREATES = { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['create'] };
const READS = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] };
const EVENTS = { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true };
const reasonOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'allowed',
    (error: unknown) => (isApiError(error) ? error.reason : String(error)),
  );

describe('the shipped permissions', () => {
  it('let the server read no Secret of the operator, and create no ServiceAccount token', async () => {
    const { client, operatorNamespace, reportsNamespace, namespace } = world;
    await world.admin.create(SECRETS, { metadata: { namespace: operatorNamespace, name: 'cluster-x' } });
    const secret = { namespace: operatorNamespace, name: 'cluster-x' };
    await expect(client.get(SECRETS, secret)).rejects.toSatisfy(isForbidden);
    const token = (where: string) => ({
      metadata: {
        namespace: where,
        name: 'token',
        annotations: { 'kubernetes.io/service-account.name': 'default' },
      },
      type: 'kubernetes.io/service-account-token',
    });
    for (const where of [operatorNamespace, reportsNamespace, namespace]) {
      await expect
        .poll(() => reasonOf(client.create(SECRETS, token(where), { dryRun: true })))
        .toBe('Forbidden');
      await expect(client.create(SECRETS, token(where))).rejects.toSatisfy(isForbidden);
    }
    await client.create(SECRETS, { metadata: { namespace, name: 'plain-ssh' } });
  });

  it('let the server neither read nor write ConfigMaps of the operator', async () => {
    const { admin, client, operatorNamespace } = world;
    for (const name of ['matryoshka-ca', 'matryoshka-site']) {
      const key = { namespace: operatorNamespace, name };
      await admin.create(CONFIG_MAPS, { metadata: key });
      const patch = { data: { 'ca.crt': 'mine' } };
      await expect(client.patch(CONFIG_MAPS, key, patch, { type: 'merge' })).rejects.toSatisfy(isForbidden);
      await expect(client.get(CONFIG_MAPS, key)).rejects.toSatisfy(isForbidden);
    }
    const other = { metadata: { namespace: operatorNamespace, name: 'other' } };
    await expect(client.create(CONFIG_MAPS, other)).rejects.toSatisfy(isForbidden);
  });

  it('let users see Events and records, but no Secret', async () => {
    const { namespace } = world;
    const person = world.clientOf(world.tokens.alice);
    await expect(person.list(SECRETS, { namespace })).rejects.toSatisfy(isForbidden);
    await expect(person.get(SECRETS, { namespace, name: 'plain-ssh' })).rejects.toSatisfy(isForbidden);
    await expect(person.create(SECRETS, { metadata: { namespace, name: 'x' } })).rejects.toSatisfy(
      isForbidden,
    );
    for (const resource of [CONFIG_MAPS, EVENTS])
      expect((await person.list(resource, { namespace })).items).toBeDefined();
    await person.close();
  });
});

describe('authorization of a caller', () => {
  it('refuses with the same message whether a cluster exists or not', async () => {
    await create('secret');
    const { mallory, bob } = world.tokens;
    const message = async (name: string) => {
      const answers = [
        await world.call(mallory, 'GET', path(name)),
        await world.call(mallory, 'GET', path(name, '/logs')),
        await world.call(mallory, 'POST', path(name), body()),
        await world.call(mallory, 'POST', path(name), body({ retry: true })),
        await world.call(mallory, 'POST', path(name, '/scaleup'), { nodeList: [host(5)] }),
        await world.call(mallory, 'DELETE', path(name)),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
      return answers.map(({ text }) => text.replaceAll(name, '<name>'));
    };
    expect(await message('secret')).toEqual(await message('nosuch'));
    expect((await world.call(mallory, 'GET', '/clusters')).status).toBe(403);
    expect((await world.call(alice(), 'GET', '/clusters')).status).toBe(403);
    const withKey = await world.call(bob, 'POST', path('bobs'), body());
    expect(withKey).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('create kubernetesclusters/credentials') },
    });
    const naming = { masterList: [host(1)], credentialsSecret: 'secret-ssh' };
    expect((await world.call(bob, 'POST', path('bobs'), naming)).status).toBe(403);
    expect(await world.cluster('bobs')).toBeUndefined();
    expect((await world.call(alice(), 'POST', path('named'), naming)).status).toBe(403);
    const reader = await world.accountWith([CREATES, { ...READS, resourceNames: ['secret-ssh'] }]);
    expect((await world.call(reader, 'POST', path('named'), naming)).status).toBe(200);
  });

  it('requires the Secret permission for every request that makes the operator use it', async () => {
    const { bob } = world.tokens;
    const asked = (name: string, more: string, payload: object) =>
      world.call(bob, 'POST', path(name, more), payload);
    // A foreign Secret has the name that the cluster would use; a retry creates nothing, whatever the caller's permissions.
    await world.admin.create(SECRETS, { metadata: { namespace: world.namespace, name: 'lent-ssh' } });
    for (const who of [bob, alice()]) {
      const retry = await world.call(who, 'POST', path('lent'), { retry: true, masterList: [host(1)] });
      expect(retry.status).toBe(404);
    }
    expect(await world.cluster('lent')).toBeUndefined();
    await create('spent');
    await world.created('spent');
    const before = await world.cluster('spent');
    const refused = { status: 403, body: { message: expect.stringContaining('secrets "spent-ssh"') } };
    expect(await asked('spent', '/scaleup', { nodeList: [host(2), host(66)] })).toMatchObject(refused);
    expect(await asked('spent', '/scaleup', { retry: true })).toMatchObject(refused);
    expect(await asked('spent', '/scaledown', { nodeList: [], allowEmpty: true })).toMatchObject(refused);
    expect(await asked('spent', '', { retry: true })).toMatchObject(refused);
    expect(await asked('spent', '', { retry: true, credentialsSecret: 'lent-ssh' })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('secrets "lent-ssh"') },
    });
    const withKey = { status: 403, body: { message: expect.stringContaining('credentials') } };
    expect(await asked('spent', '', { retry: true, privateSSHKey: key })).toMatchObject(withKey);
    expect(await world.cluster('spent')).toEqual(before);
  });

  it('stores the key of a retry, but never in a foreign Secret of that name', async () => {
    const keys = { metadata: { namespace: world.namespace, name: 'keys' } };
    await world.admin.create(SECRETS, keys);
    const naming = { masterList: [host(1)], credentialsSecret: 'keys' };
    const reader = await world.accountWith([CREATES, { ...READS, resourceNames: ['keys'] }]);
    expect((await world.call(reader, 'POST', path('brought'), naming)).status).toBe(200);
    const where = { namespace: world.namespace, name: 'brought-ssh' };
    const foreign = { metadata: { ...where, labels: { [labels.purpose]: 'credentials' } } };
    await world.admin.create(SECRETS, foreign);
    const retry = () => world.call(alice(), 'POST', path('brought'), { retry: true, privateSSHKey: key });
    expect((await retry()).status).toBe(409);
    expect((await secretOf('brought'))?.data).toBeUndefined();
    expect((await world.cluster('brought'))?.spec.cluster.credentialsSecret).toBe('keys');
    await world.admin.delete(SECRETS, where);
    expect((await retry()).status).toBe(200);
    expect((await world.cluster('brought'))?.spec.cluster.credentialsSecret).toBe('brought-ssh');
    expect(secretText(await secretOf('brought'), 'ssh-privatekey')).toBe(`${key.trim()}\n`);
  });

  it('requires permissions for manifests and the kubeconfig to retry a creation', async () => {
    const secret = { ...READS, resourceNames: ['filed-ssh'] };
    const reading = { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: ['addons'] };
    await create('filed');
    const files = { manifests: [{ configMap: 'addons', key: 'a.yaml', sha256: '0'.repeat(64) }] };
    await world.admin.patch(
      KUBERNETES_CLUSTERS,
      { namespace: world.namespace, name: 'filed' },
      { spec: { addons: files } },
      { type: 'merge' },
    );
    const before = await world.cluster('filed');
    const changes = { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['update'] };
    const ruling = {
      apiGroups: ['ecs.yun.com'],
      resources: ['kubernetesclusters/kubeconfig'],
      verbs: ['get'],
    };
    const blind = await world.accountWith([changes, secret, ruling]);
    const refused = { status: 403, body: { message: expect.stringContaining('configmaps "addons"') } };
    for (const query of ['', '&dryRun=All'])
      expect(await world.call(blind, 'POST', `${path('filed')}${query}`, { retry: true })).toMatchObject(
        refused,
      );
    const guest = await world.accountWith([changes, secret, reading]);
    expect((await world.call(guest, 'POST', path('filed'), { retry: true })).status).toBe(403);
    expect(await world.cluster('filed')).toEqual(before);
    const reader = await world.accountWith([changes, secret, reading, ruling]);
    const planned = await world.call(reader, 'POST', `${path('filed')}&dryRun=All`, { retry: true });
    expect(planned).toMatchObject({ status: 200 });
    expect(planned.text).toContain('Apply manifests');
  });

  it('requires the kubeconfig permission for a retry with privileged settings', async () => {
    await create('ruled');
    const before = await world.cluster('ruled');
    const clusters = { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['update'] };
    const keys = { ...clusters, resources: ['kubernetesclusters/credentials'], verbs: ['use', 'create'] };
    const guest = await world.accountWith([clusters, keys]);
    const again = (who: string, query: string, body: object) =>
      world.call(who, 'POST', `${path('ruled')}${query}`, { retry: true, ...body });
    const patches = [{ target: 'kube-apiserver', merge: {} }];
    for (const [query, body] of [
      ['', { kubeadm: { patches } }],
      ['', { imagesRegistry: 'mine.example.com', privateSSHKey: key }],
      ['&dryRun=All', { kubeadm: { patches } }],
    ] as const)
      expect(await again(guest, query, body)).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('get kubernetesclusters/kubeconfig') },
      });
    expect(await world.cluster('ruled')).toEqual(before);
    expect((await again(alice(), '', { kubeadm: { patches } })).status).toBe(200);
    // A setting that exists already, or that decides nothing, requires only the permission to retry.
    for (const certSANs of [[], ['a.example.com']])
      expect((await again(guest, '', { kubeadm: { patches, certSANs } })).status).toBe(200);
  });

  it('requires the hook permission for requests that would run hooks', async () => {
    await create('hooked');
    const hooks = { preCreate: [{ configMap: 'addons', key: 'a.yaml', sha256: '0'.repeat(64) }] };
    const where = { namespace: world.namespace, name: 'hooked' };
    await world.admin.patch(KUBERNETES_CLUSTERS, where, { spec: { hooks } }, { type: 'merge' });
    const before = await world.cluster('hooked');
    const rights = [
      { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['update'] },
      { ...READS, resourceNames: ['hooked-ssh'] },
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'], resourceNames: ['addons'] },
    ];
    const guest = await world.accountWith(rights);
    for (const [asked, body] of [
      [path('hooked'), { retry: true }],
      [path('hooked', '/scaleup'), { nodeList: [host(5)] }],
      [`${path('hooked')}&dryRun=All`, { retry: true }],
    ] as const)
      expect(await world.call(guest, 'POST', asked, body)).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('may not hook kubernetesclusters') },
      });
    expect(await world.cluster('hooked')).toEqual(before);
    const hook = { apiGroups: ['ecs.yun.com'], resources: ['kubernetesclusters'], verbs: ['hook'] };
    const hooker = await world.accountWith([...rights, hook]);
    const planned = await world.call(hooker, 'POST', `${path('hooked')}&dryRun=All`, { retry: true });
    expect(planned).toMatchObject({ status: 200 });
    expect(planned.text).toContain('preCreate[0]');
  });
});
