import { expect, it } from 'vitest';
import { z } from 'zod';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Client } from '#runtime/client/client.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { ApiError } from '#runtime/wire/api-error.ts';
import { newIdentity, recipientOf } from '#snapshots/seal.ts';
import { clusterStatesIn } from './cluster-state.ts';
import { snapshotAccessOf } from './snapshot-access.ts';

const test = useNamespace('snapshot-access');
const CLAIM = 'snapshots';
const HIDDEN = 'very-secret';

const cluster = (name: string): KubernetesCluster => ({
  metadata: { namespace: test.namespace, name },
  spec: { cluster: {} },
});
/** Returns the access of a cluster, whose id is its name. */
async function accessFor(
  of: KubernetesCluster,
  secret?: string,
  {
    claim = CLAIM,
    task = 'save',
    client = test.client,
  }: { claim?: string | undefined; task?: 'save' | 'load'; client?: Client } = {},
) {
  const { name: id = '' } = of.metadata;
  const clusterStates = clusterStatesIn(test.client, test.namespace);
  await clusterStates.bind(id, { namespace: test.namespace, name: id });
  return snapshotAccessOf({ client, clusterStates, claim: claim || undefined }, of, id, {
    spec: { ...of.spec, ...(secret === undefined ? {} : { etcdSnapshots: { secret } }) },
    task,
  });
}
const secretWith = (name: string, data: Record<string, string>) =>
  test.client.create<Secret>(SECRETS, {
    metadata: { namespace: test.namespace, name },
    data: secretData(data),
  });
/** Returns the access of a cluster whose spec names a Secret with this data, or no Secret. */
async function accessOf(name: string, data: Record<string, string> | undefined) {
  const secret = `${name}-of-the-user`;
  if (data) await secretWith(secret, data);
  return accessFor(cluster(name), data && secret);
}
const S3 = {
  endpoint: 'https://s3.example.com',
  bucket: 'b',
  'access-key-id': 'id',
  'secret-access-key': HIDDEN,
};

it('makes a key once, and keeps it when the cluster is deleted', async () => {
  const first = await accessOf('auto', undefined);
  expect(await accessOf('auto', undefined)).toEqual(first);
  expect(first.storage.kind).toBe('directory');
  const secret = await test.client.get<Secret>(SECRETS, test.key('auto-snapshots'));
  expect(secretText(secret, 'age-identity')).toBe(first.identity);
  expect(secret.metadata.ownerReferences).toBeUndefined();
});

it('uses the storage and the key of the user', async () => {
  const identity = await newIdentity();
  const access = await accessOf('own', { ...S3, 'age-identity': `${identity}\n`, prefix: 'east' });
  expect(access).toEqual({
    identity,
    storage: {
      kind: 's3',
      endpoint: S3.endpoint,
      bucket: 'b',
      region: 'us-east-1',
      prefix: 'east',
      accessKeyId: 'id',
      secretAccessKey: HIDDEN,
    },
  });
});

it.each<[string, Record<string, string>, string]>([
  ['no key', { ...S3 }, 'has no age-identity that can be used'],
  ['a public key', { ...S3, 'age-identity': 'age1abc' }, 'has no age-identity that can be used'],
  ['no bucket', { ...S3, bucket: '', 'age-identity': 'KEY' }, 'has an endpoint, and lacks bucket'],
  ['no URL', { ...S3, endpoint: 's3.example.com', 'age-identity': 'KEY' }, 'that is no URL'],
  ['another scheme', { ...S3, endpoint: 'file:///etc', 'age-identity': 'KEY' }, 'that is no URL'],
])('names what is wrong with a Secret with %s, and none of its values', async (what, data, reason) => {
  const key = data['age-identity'] === 'KEY' ? { 'age-identity': await newIdentity() } : {};
  const refused = accessOf(what.replaceAll(' ', '-').toLowerCase(), { ...data, ...key });
  const error: unknown = await refused.catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: 'Refusal', reason: 'SnapshotStorageMissing' });
  expect(String(error)).toContain(reason);
  expect(String(error)).not.toContain(HIDDEN);
});

it('refuses without a volume of the installation and without storage of the user', async () => {
  await expect(accessFor(cluster('nowhere'), undefined, { claim: '' })).rejects.toThrow(
    'no volume for snapshots',
  );
  expect(await test.client.find(SECRETS, test.key('nowhere-snapshots'))).toBeUndefined();
});

it('does not make a Secret that the spec names, or that a restore needs', async () => {
  await expect(accessFor(cluster('named'), 'not-there')).rejects.toThrow('is not there');
  await expect(accessFor(cluster('lost'), undefined, { task: 'load' })).rejects.toThrow('from your copy');
  const stored = [{ name: '20261129t020000z-7', createdAt: '2026-11-29T02:00:00.000Z', size: 1 }];
  const saved = { ...cluster('saved'), status: { etcdSnapshots: { stored } } };
  await expect(accessFor(saved)).rejects.toThrow('from your copy');
});

it('gives every attempt to create the Secret the same key', async () => {
  const name = 'late';
  const clusterStates = clusterStatesIn(test.client, test.namespace);
  let late: Secret | undefined;
  const client: Client = {
    ...test.client,
    create: async (resource, object, options) => {
      if (object.metadata.name !== 'late-snapshots') return test.client.create(resource, object, options);
      late = {
        metadata: object.metadata,
        data: 'data' in object ? z.record(z.string(), z.string()).parse(object.data) : {},
      };
      throw new ApiError('Connection', 'no answer', { status: 0 });
    },
  };
  await expect(accessFor(cluster(name), undefined, { client })).rejects.toThrow('no answer');
  // The API server carries the request out after the next attempt has found nothing.
  let reads = 0;
  const behind: Client = {
    ...test.client,
    find: async (resource, key, ...more) => {
      if (key.name !== 'late-snapshots') return test.client.find(resource, key, ...more);
      reads += 1;
      if (reads > 2) return test.client.find(resource, key, ...more);
      if (reads === 2 && late) await test.client.create(SECRETS, late);
      return undefined;
    },
  };
  const { identity } = await accessFor(cluster(name), undefined, { client: behind });
  expect(secretText(late, 'age-identity')).toBe(identity);
  expect(await accessFor(cluster(name))).toMatchObject({ identity });
  // The operator keeps no copy of a key that its Secret has.
  expect(await clusterStates.snapshotKeyOf(name, 'late-snapshots')).toEqual({
    recipient: await recipientOf(identity),
  });
});

it('makes no new key for a Secret that was there once, whatever status says', async () => {
  const { identity } = await accessFor(cluster('once'));
  await test.client.delete(SECRETS, test.key('once-snapshots'));
  await expect(accessFor(cluster('once'))).rejects.toThrow('create it again from your copy');
  await secretWith('once-snapshots', { 'age-identity': identity });
  expect(await accessFor(cluster('once'))).toMatchObject({ identity });
});

it('makes no new key because one read missed the Secret', async () => {
  const first = await accessFor(cluster('missed'));
  let reads = 0;
  const client: Client = {
    ...test.client,
    find: async (...args) => {
      reads += 1;
      return reads === 1 ? undefined : test.client.find(...args);
    },
  };
  expect(await accessFor(cluster('missed'), undefined, { client })).toEqual(first);
});

it('refuses a default Secret that the operator did not create', async () => {
  await secretWith('planted-snapshots', { 'age-identity': await newIdentity() });
  const refused = accessFor(cluster('planted'));
  await expect(refused).rejects.toThrow('set spec.etcdSnapshots.secret to "planted-snapshots"');
  await accessFor(cluster('planted'), 'planted-snapshots');
});

it.each(['default', 'named'])('does not use another key in a %s Secret', async (kind) => {
  const named = kind === 'named' ? 'keys-of-the-user' : undefined;
  if (named) await secretWith(named, { 'age-identity': await newIdentity() });
  const of = cluster(`pinned-${kind}`);
  const { identity } = await accessFor(of, named);
  const key = test.key(named ?? `${of.metadata.name}-snapshots`);
  const write = (text: string) =>
    test.client.patch(SECRETS, key, { data: secretData({ 'age-identity': text }) }, { type: 'merge' });
  await write(await newIdentity());
  await expect(accessFor(of, named)).rejects.toThrow('has another age-identity than before');
  await write(identity);
  expect(await accessFor(of, named)).toMatchObject({ identity });
});
