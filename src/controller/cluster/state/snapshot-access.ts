import { keyOf } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster, Spec } from '#api/kubernetes-cluster.ts';
import { labels, snapshotsSecretName } from '#api/names.ts';
import {
  SNAPSHOT_VOLUME,
  type SnapshotAccess,
  type SnapshotTask,
  snapshotStorageSchema,
} from '#protocol/snapshot.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isForbidden } from '#runtime/wire/api-error.ts';
import { newIdentity, recipientOf } from '#snapshots/seal.ts';
import { Refusal } from '../decide/refusal.ts';
import type { ClusterStates, SnapshotKey } from './cluster-state.ts';

/** The keys of the Secret that configure S3; `endpoint` decides whether it does. */
const S3_KEYS = ['bucket', 'access-key-id', 'secret-access-key'] as const;
/** Most S3-compatible servers accept it. */
const DEFAULT_REGION = 'us-east-1';

/** The present, and what snapshot access may change. */
export interface SnapshotAccessDeps {
  client: Client;
  clusterStates: Pick<ClusterStates, 'snapshotKeyOf' | 'makeSnapshotKey' | 'pinSnapshotKey'>;
  /** PersistentVolumeClaim for snapshots of clusters that name no other storage. */
  claim: string | undefined;
}

/**
 * Returns key and storage of a cluster's snapshots, from its Secret now. The first snapshot creates the default Secret with a
 * new key: without an owner, since snapshots are of use after their cluster. The key of a Secret is pinned, since a snapshot
 * has the keys of the cluster: who may write Secrets cannot get these by a key of their own. Throws a Refusal whose message
 * has no value of the Secret.
 */
export async function snapshotAccessOf(
  { client, clusterStates, claim }: SnapshotAccessDeps,
  cluster: KubernetesCluster,
  clusterId: string,
  { spec, task }: { spec: Spec; task: SnapshotTask['task'] },
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
  // A Secret that is not there ends the operation: two reads must agree.
  let secret = (await find()) ?? (await find());
  let pinned = await clusterStates.snapshotKeyOf(clusterId, name);
  // A new key would not read the snapshots that are there.
  const stored = cluster.status?.etcdSnapshots?.stored ?? [];
  if (!secret && named === undefined && task === 'save' && stored.length === 0) {
    if (claim === undefined) throw lack(NO_PLACE);
    // Pinned first: no Secret of that name counts if another program creates it in between.
    pinned = await clusterStates.makeSnapshotKey(clusterId, name, newKey);
    // Without its identity, the Secret was there once, and snapshots may be too.
    if (pinned.identity !== undefined)
      secret = (await create(client, { namespace, name }, pinned.identity)) ?? (await find());
  }
  if (!secret)
    throw lack(
      named === undefined
        ? 'is not there; its snapshots cannot be read without it: create it again from your copy, or name another in spec.etcdSnapshots.secret'
        : 'is not there',
    );
  const identity = (secretText(secret, 'age-identity') ?? '').trim();
  const recipient = await recipientOf(identity);
  if (recipient === undefined)
    throw lack(
      'has no age-identity that can be used; write the line AGE-SECRET-KEY-1… that age-keygen prints',
    );
  if (pinned === undefined && named === undefined)
    throw lack(
      `was not created for this cluster by the operator; to use it, set spec.etcdSnapshots.secret to "${name}"`,
    );
  if (pinned !== undefined && pinned.recipient !== recipient)
    throw lack('has another age-identity than before; put that back, or name a new Secret with the new key');
  if (pinned === undefined || pinned.identity !== undefined)
    await clusterStates.pinSnapshotKey(clusterId, name, recipient);
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

/** Returns a new key, with its identity. */
async function newKey(): Promise<Required<SnapshotKey>> {
  const identity = await newIdentity();
  const recipient = await recipientOf(identity);
  if (recipient === undefined) throw new Error('a new identity has no recipient');
  return { recipient, identity };
}

const NO_PLACE =
  'names no storage, and the installation has no volume for snapshots; write age-identity, endpoint, bucket, access-key-id and secret-access-key into it';

/** Returns the Secret; undefined if there is one already: then the pinned key decides whether it counts. */
async function create(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
  identity: string,
): Promise<Secret | undefined> {
  const secret: Secret = {
    metadata: { namespace, name, labels: { [labels.purpose]: 'snapshots' } },
    data: secretData({ 'age-identity': identity }),
  };
  try {
    return await client.create(SECRETS, secret);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return undefined;
  }
}
