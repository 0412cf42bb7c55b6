import { z } from 'zod';
import { keyOf as keyOfCluster, otherCluster, textOf } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { clusterStateName, internalAnnotations, labels } from '#api/names.ts';
import type { Access } from '#installer/installer.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isConflict } from '#runtime/wire/api-error.ts';
import { type FrozenPlan, frozenPlanFrom, withPlan } from '../decide/frozen-plan.ts';
import { Refusal } from '../decide/refusal.ts';
import type { Binding } from '../decide/snapshot.ts';
import { accessFrom, credentialsOf } from './credentials.ts';

/** The operator's own data of each cluster, so that the hosts of a deleted object can still be reset. */
export interface ClusterStates {
  bindingOf(clusterId: string, cluster: ObjectKey, traces: Traces): Promise<Binding>;
  /** Binds the id to the object; succeeds if it is bound so already. */
  bind(clusterId: string, cluster: ObjectKey): Promise<void>;
  /** Takes the next sequence, which is never reused. Refreshes the credentials and stores the plan in the same write. */
  takeSequence(
    clusterId: string,
    cluster: KubernetesCluster,
    planFor: (sequence: number) => FrozenPlan,
  ): Promise<number>;
  /** Returns the sequence that was taken last, from the cache. */
  lastSequence(clusterId: string): number | undefined;
  /** Raises the sequence, so that the next one is later than all that hosts know. */
  raiseSequence(clusterId: string, to: number): Promise<void>;
  /** Returns the credentials in the cluster's own Secrets now; stores nothing. */
  presentAccess(cluster: KubernetesCluster): Promise<Access>;
  /** Returns the plan of the operation with that sequence. */
  planOf(clusterId: string, sequence: number): Promise<FrozenPlan | undefined>;
  /** Returns the stored credentials, as of the operation of that sequence or later. */
  accessOf(clusterId: string, sequence?: number): Promise<Access>;
  /** Returns the pinned key of a Secret for snapshots; undefined before its first use. */
  snapshotKeyOf(clusterId: string, secret: string): Promise<SnapshotKey | undefined>;
  /**
   * Pins a new key for a Secret that is to be created, and keeps its identity until then. Returns the key that was pinned
   * before, if there is one: attempts to create the Secret must all have the same key.
   */
  makeSnapshotKey(
    clusterId: string,
    secret: string,
    make: () => Promise<Required<SnapshotKey>>,
  ): Promise<SnapshotKey>;
  /** Pins the recipient of a Secret for snapshots that is there, and forgets its identity. */
  pinSnapshotKey(clusterId: string, secret: string, recipient: string): Promise<void>;
  drop(clusterId: string, keepTombstone: boolean): Promise<void>;
}

/** Key of the snapshots of a cluster (age-encryption.org). */
export interface SnapshotKey {
  recipient: string;
  /** The private key, until its Secret was seen. */
  identity?: string;
}

/** Traces of a former cluster on the object. */
export interface Traces {
  carriesId: boolean;
  /** Whether the object has neither id nor finalizer nor status. */
  none: boolean;
}

/** Keys of a cluster state Secret without confidential values. */
export const PUBLIC_KEYS = ['sequence', 'plan'] as const;

/** Returns the cluster states over the client of one reconcile; `cached` returns a Secret with PUBLIC_KEYS only. */
export function clusterStatesIn(
  client: Client,
  namespace: string,
  cached: (clusterId: string) => Secret | undefined = () => undefined,
): ClusterStates {
  const keyOf = (clusterId: string): ObjectKey => ({ namespace, name: clusterStateName(clusterId) });
  const find = (clusterId: string) => client.find<Secret>(SECRETS, keyOf(clusterId));
  const need = async (clusterId: string): Promise<Secret> => {
    const secret = await find(clusterId);
    // The Secret existed a moment ago, or is being created; the next reconcile finds out whether it is gone.
    if (!secret || !isLive(secret)) throw new Error(`cluster-id ${clusterId} has no cluster state Secret`);
    return secret;
  };
  // The resourceVersion makes each write a compare-and-swap: two leaders cannot take the same sequence.
  const save = (
    { metadata: { name = '', resourceVersion } }: Secret,
    texts: Record<string, string | undefined>,
  ) => {
    const patch = { metadata: { resourceVersion }, data: secretData(texts) };
    return client.patch(SECRETS, { namespace, name }, patch, { type: 'merge' });
  };
  const saveKey = (secret: Secret, name: string, { recipient, identity }: SnapshotKey) => {
    const { [name]: _former, ...others } = textsIn(secret, IDENTITIES);
    const identities = identity === undefined ? others : { ...others, [name]: identity };
    return save(secret, {
      [RECIPIENTS]: JSON.stringify({ ...textsIn(secret, RECIPIENTS), [name]: recipient }),
      [IDENTITIES]: JSON.stringify(identities),
    });
  };
  const oursIn = (cluster: ObjectKey, secret: Secret | undefined): secret is Secret =>
    secret !== undefined && isLive(secret) && clusterOf(secret) === textOf(cluster);

  return {
    async bindingOf(clusterId, cluster, { carriesId, none }) {
      // The Secret names the same cluster until it is deleted. Afterwards every write for that cluster is refused.
      const known = cached(clusterId);
      if (oursIn(cluster, known)) return { kind: 'ours' };
      // The cache may not show its cluster state Secret yet; bind() finds it.
      if (none && !known) return { kind: 'unbound' };
      const secret = await find(clusterId);
      if (!secret || !isLive(secret)) return carriesId ? { kind: 'missing' } : { kind: 'unbound' };
      const to = clusterOf(secret);
      if (to !== textOf(cluster)) return { kind: 'foreign', to: to ?? 'nobody' };
      return { kind: 'ours' };
    },
    async bind(clusterId, cluster) {
      const secret: Secret = {
        metadata: {
          ...keyOf(clusterId),
          labels: { [labels.purpose]: 'anchor', [labels.clusterId]: clusterId },
          annotations: { [internalAnnotations.cluster]: textOf(cluster) },
        },
        data: secretData({ sequence: '0' }),
      };
      try {
        await client.create(SECRETS, secret);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const found = await need(clusterId);
        const to = clusterOf(found);
        if (to !== textOf(cluster))
          throw new Refusal(
            'IdentityConflict',
            `cluster-id ${clusterId} belongs to ${otherCluster(to ?? '', cluster.namespace)}`,
          );
      }
    },
    async takeSequence(clusterId, cluster, planFor) {
      const given = await credentialsOf(client, cluster);
      const takeFrom = async (secret: Secret) => {
        const sequence = Number(secretText(secret, 'sequence') ?? 0) + 1;
        const seen = cluster.status?.operation?.sequence ?? 0;
        const plan = withPlan(secretText(secret, 'plan'), planFor(sequence), seen);
        await save(secret, { sequence: String(sequence), plan, ...given });
        return sequence;
      };
      const known = cached(clusterId);
      if (oursIn(keyOfCluster(cluster), known)) {
        try {
          return await takeFrom(known);
        } catch (error) {
          // The cache is behind.
          if (!isConflict(error)) throw error;
        }
      }
      return takeFrom(await need(clusterId));
    },
    lastSequence(clusterId) {
      const text = secretText(cached(clusterId), 'sequence');
      return text === undefined ? undefined : Number(text);
    },
    async raiseSequence(clusterId, to) {
      const secret = await need(clusterId);
      if (Number(secretText(secret, 'sequence') ?? 0) < to) await save(secret, { sequence: String(to) });
    },
    presentAccess: async (cluster) => accessFrom(await credentialsOf(client, cluster)),
    async planOf(clusterId, sequence) {
      const known = frozenPlanFrom(secretText(cached(clusterId), 'plan'), sequence);
      return known ?? frozenPlanFrom(secretText(await find(clusterId), 'plan'), sequence);
    },
    async accessOf(clusterId, sequence = 0) {
      const secret = await need(clusterId);
      // An answer from before the operation has the credentials of an earlier one, or none.
      if (Number(secretText(secret, 'sequence') ?? 0) < sequence)
        throw new Error(
          `the cluster state Secret of cluster-id ${clusterId} is older than sequence ${sequence}`,
        );
      return accessFrom({
        username: secretText(secret, 'username'),
        'ssh-privatekey': secretText(secret, 'ssh-privatekey'),
        password: secretText(secret, 'password'),
        known_hosts: secretText(secret, 'known_hosts'),
        'registry-login': secretText(secret, 'registry-login'),
      });
    },
    snapshotKeyOf: async (clusterId, name) => snapshotKeyIn(await need(clusterId), name),
    async makeSnapshotKey(clusterId, name, make) {
      const secret = await need(clusterId);
      const known = snapshotKeyIn(secret, name);
      if (known) return known;
      const made = await make();
      await saveKey(secret, name, made);
      return made;
    },
    async pinSnapshotKey(clusterId, name, recipient) {
      await saveKey(await need(clusterId), name, { recipient });
    },
    async drop(clusterId, keepTombstone) {
      const secret = await find(clusterId);
      if (!secret) return;
      if (!keepTombstone) {
        const { uid, resourceVersion } = secret.metadata;
        await client.delete(SECRETS, keyOf(clusterId), { preconditions: { uid, resourceVersion } });
        return;
      }
      // The id outlives the cluster while a host may carry its remains; the credentials do not.
      const { sequence = '' } = secret.data ?? {};
      await client.update(SECRETS, {
        ...secret,
        metadata: {
          ...secret.metadata,
          labels: { ...secret.metadata.labels, [labels.purpose]: 'tombstone' },
        },
        data: { sequence },
      });
    },
  };
}

/** Recipients by the names of the Secrets, as JSON; and identities of Secrets that were not seen yet. */
const RECIPIENTS = 'snapshot-keys';
const IDENTITIES = 'snapshot-identities';
const textsSchema = z.record(z.string(), z.string());
const textsIn = (secret: Secret, key: string): Record<string, string> =>
  textsSchema.parse(JSON.parse(secretText(secret, key) ?? '{}'));

function snapshotKeyIn(secret: Secret, name: string): SnapshotKey | undefined {
  const { [name]: recipient } = textsIn(secret, RECIPIENTS);
  const { [name]: identity } = textsIn(secret, IDENTITIES);
  if (recipient === undefined) return undefined;
  return { recipient, ...(identity === undefined ? {} : { identity }) };
}

const clusterOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.annotations?.[internalAnnotations.cluster];
/** Whether the Secret belongs to a cluster; a tombstone does not. */
const isLive = ({ metadata }: KubeObject): boolean => metadata.labels?.[labels.purpose] === 'anchor';
