import { keyOf } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { labels, snapshotsSecretName } from '#api/names.ts';
import { SNAPSHOT_VOLUME, type SnapshotAccess, snapshotStorageSchema } from '#protocol/snapshot.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isForbidden } from '#runtime/wire/api-error.ts';
import { isIdentity, newIdentity } from '#snapshots/seal.ts';
import { Refusal } from '../decide/refusal.ts';

/** The keys of the Secret that configure S3; `endpoint` decides whether it does. */
const S3_KEYS = ['bucket', 'access-key-id', 'secret-access-key'] as const;
/** Most S3-compatible servers accept it. */
const DEFAULT_REGION = 'us-east-1';

/**
 * Returns key and storage of a cluster's snapshots, from its Secret now. Creates the default Secret with a new key if it is
 * missing: without an owner, since snapshots are of use after their cluster. Throws a Refusal whose message has no value of
 * the Secret.
 */
export async function snapshotAccessOf(
  client: Client,
  cluster: KubernetesCluster,
  spec: Spec,
  claim: string | undefined,
): Promise<SnapshotAccess> {
  const { namespace, name: clusterName } = keyOf(cluster);
  const named = spec.etcdSnapshots?.secret;
  const name = named ?? snapshotsSecretName(clusterName);
  const lack = (reason: string) =>
    new Refusal('SnapshotStorageMissing', `Secret ${name} (spec.etcdSnapshots.secret) ${reason}`);
  const find = () =>
    client.find<Secret>(SECRETS, { namespace, name }).catch((error: unknown) => {
      if (!isForbidden(error)) throw error;
      throw new Refusal('NamespaceNotServed', `the operator may not read Secrets of namespace ${namespace}`);
    });
  let secret = await find();
  if (!secret && named === undefined) {
    if (claim === undefined) throw lack(NO_PLACE);
    await create(client, { namespace, name });
    secret = await find();
  }
  if (!secret) throw lack('is not there');
  const identity = (secretText(secret, 'age-identity') ?? '').trim();
  if (!(await isIdentity(identity)))
    throw lack(
      'has no age-identity that can be used; write the line AGE-SECRET-KEY-1… that age-keygen prints',
    );
  const endpoint = secretText(secret, 'endpoint');
  if (endpoint === undefined) {
    if (claim === undefined) throw lack(NO_PLACE);
    return { identity, storage: { kind: 'directory', path: SNAPSHOT_VOLUME } };
  }
  const missing = S3_KEYS.filter((key) => (secretText(secret, key) ?? '') === '');
  if (missing.length > 0) throw lack(`has an endpoint, and lacks ${missing.join(', ')}`);
  const authorities = secretText(secret, 'ca.crt');
  const storage = snapshotStorageSchema.safeParse({
    kind: 's3',
    endpoint,
    bucket: secretText(secret, 'bucket'),
    region: secretText(secret, 'region') ?? DEFAULT_REGION,
    prefix: secretText(secret, 'prefix') ?? '',
    accessKeyId: secretText(secret, 'access-key-id'),
    secretAccessKey: secretText(secret, 'secret-access-key'),
    ...(authorities === undefined ? {} : { authorities }),
  });
  if (!storage.success) throw lack('has an endpoint that is no URL; write https://s3.example.com');
  return { identity, storage: storage.data };
}

const NO_PLACE =
  'names no storage, and the installation has no volume for snapshots; write age-identity, endpoint, bucket, access-key-id and secret-access-key into it';

async function create(client: Client, { namespace, name }: { namespace: string; name: string }) {
  const secret: Secret = {
    metadata: { namespace, name, labels: { [labels.purpose]: 'snapshots' } },
    data: secretData({ 'age-identity': await newIdentity() }),
  };
  try {
    await client.create(SECRETS, secret);
  } catch (error) {
    // Another reconcile created it; its key counts.
    if (!isAlreadyExists(error)) throw error;
  }
}
