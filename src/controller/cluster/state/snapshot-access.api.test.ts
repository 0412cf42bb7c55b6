import { expect, it } from 'vitest';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { useNamespace } from '#runtime/testing/test-namespace.ts';
import { newIdentity } from '#snapshots/seal.ts';
import { snapshotAccessOf } from './snapshot-access.ts';

const test = useNamespace('snapshot-access');
const CLAIM = 'snapshots';
const HIDDEN = 'very-secret';

const cluster = (name: string): KubernetesCluster => ({
  metadata: { namespace: test.namespace, name },
  spec: { cluster: {} },
});
/** Returns the access of a cluster whose spec names a Secret with this data, or no Secret. */
async function accessOf(
  name: string,
  data: Record<string, string> | undefined,
  claim: string | undefined = CLAIM,
) {
  const secret = `${name}-of-the-user`;
  if (data)
    await test.client.create<Secret>(SECRETS, {
      metadata: { namespace: test.namespace, name: secret },
      data: secretData(data),
    });
  const of = cluster(name);
  return snapshotAccessOf(
    test.client,
    of,
    { ...of.spec, ...(data ? { etcdSnapshots: { secret } } : {}) },
    claim,
  );
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
  const of = cluster('nowhere');
  await expect(snapshotAccessOf(test.client, of, of.spec, undefined)).rejects.toThrow(
    'no volume for snapshots',
  );
  expect(await test.client.find(SECRETS, test.key('nowhere-snapshots'))).toBeUndefined();
});

it('does not make a Secret that the spec names', async () => {
  const of = cluster('named');
  const spec = { ...of.spec, etcdSnapshots: { secret: 'not-there' } };
  await expect(snapshotAccessOf(test.client, of, spec, CLAIM)).rejects.toThrow('is not there');
});
