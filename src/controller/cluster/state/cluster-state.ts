import { keyOf as keyOfCluster, otherCluster, textOf } from '#api/cluster-facts.ts';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import type { KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject, ObjectKey } from '#api/meta.ts';
import { anchorName, labels, marks } from '#api/names.ts';
import type { Access } from '#installer/installer.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isConflict } from '#runtime/wire/api-error.ts';
import { type FrozenPlan, frozenPlanFrom, withPlan } from '../decide/frozen-plan.ts';
import { Refusal } from '../decide/refusal.ts';
import type { Binding } from '../decide/snapshot.ts';
import { accessFrom, credentialsOf } from './credentials.ts';

/** What the operator remembers of a cluster beside its object, so that a deleted object's hosts can still be reset. */
export interface Anchors {
  bindingOf(clusterId: string, cluster: ObjectKey, traces: Traces): Promise<Binding>;
  /** Binds the id to the object; finding it bound so is success. */
  bind(clusterId: string, cluster: ObjectKey): Promise<void>;
  /** The next sequence, taken for good; the credentials are refreshed with it, and the plan is frozen under it. */
  takeSequence(
    clusterId: string,
    cluster: KubernetesCluster,
    planFor: (sequence: number) => FrozenPlan,
  ): Promise<number>;
  /** The sequence that was taken last, as the cache has it. */
  lastSequence(clusterId: string): number | undefined;
  /** Raises it, so that the next one is later than all that hosts know. */
  raiseSequence(clusterId: string, to: number): Promise<void>;
  /** How to reach the hosts by what the cluster's own Secrets say now; nothing is remembered of it. */
  presentAccess(cluster: KubernetesCluster): Promise<Access>;
  /** The plan of the operation of that sequence. */
  planOf(clusterId: string, sequence: number): Promise<FrozenPlan | undefined>;
  /** How to reach the hosts, as of the operation of that sequence or later. */
  accessOf(clusterId: string, sequence?: number): Promise<Access>;
  drop(clusterId: string, keepTombstone: boolean): Promise<void>;
}

/** What an object shows of a former life. */
export interface Traces {
  carriesId: boolean;
  /** Neither id nor finalizer nor status. */
  none: boolean;
}

/** Keys of an anchor that hold no secret. */
export const PUBLIC_KEYS = ['sequence', 'plan'] as const;

/** Over the client of one reconcile; `cached` answers what the cache has of a cluster's anchor: PUBLIC_KEYS alone. */
export function anchorsIn(
  client: Client,
  namespace: string,
  cached: (clusterId: string) => Secret | undefined = () => undefined,
): Anchors {
  const keyOf = (clusterId: string): ObjectKey => ({ namespace, name: anchorName(clusterId) });
  const find = (clusterId: string) => client.find<Secret>(SECRETS, keyOf(clusterId));
  const need = async (clusterId: string): Promise<Secret> => {
    const anchor = await find(clusterId);
    // It was there a moment ago, or is about to be; whether it is gone for good, the next look tells.
    if (!anchor || !isLive(anchor)) throw new Error(`cluster-id ${clusterId} has no anchor`);
    return anchor;
  };
  // The resourceVersion makes each a compare-and-swap: two leaders cannot take one sequence.
  const save = (
    { metadata: { name = '', resourceVersion } }: Secret,
    texts: Record<string, string | undefined>,
  ) => {
    const patch = { metadata: { resourceVersion }, data: secretData(texts) };
    return client.patch(SECRETS, { namespace, name }, patch, { type: 'merge' });
  };
  const oursIn = (cluster: ObjectKey, anchor: Secret | undefined): anchor is Secret =>
    anchor !== undefined && isLive(anchor) && clusterOf(anchor) === textOf(cluster);

  return {
    async bindingOf(clusterId, cluster, { carriesId, none }) {
      // A live anchor keeps its cluster until it goes, and whatever is done in its name is refused once it has gone.
      const known = cached(clusterId);
      if (oursIn(cluster, known)) return { kind: 'ours' };
      // Should it have an anchor that the cache does not show yet, binding it finds that out.
      if (none && !known) return { kind: 'unbound' };
      const anchor = await find(clusterId);
      if (!anchor || !isLive(anchor)) return carriesId ? { kind: 'missing' } : { kind: 'unbound' };
      const to = clusterOf(anchor);
      if (to !== textOf(cluster)) return { kind: 'foreign', to: to ?? 'nobody' };
      return { kind: 'ours' };
    },
    async bind(clusterId, cluster) {
      const anchor: Secret = {
        metadata: {
          ...keyOf(clusterId),
          labels: { [labels.purpose]: 'anchor', [labels.clusterId]: clusterId },
          annotations: { [marks.cluster]: textOf(cluster) },
        },
        data: secretData({ sequence: '0' }),
      };
      try {
        await client.create(SECRETS, anchor);
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
      const takeFrom = async (anchor: Secret) => {
        const sequence = Number(secretText(anchor, 'sequence') ?? 0) + 1;
        const seen = cluster.status?.operation?.sequence ?? 0;
        const plan = withPlan(secretText(anchor, 'plan'), planFor(sequence), seen);
        await save(anchor, { sequence: String(sequence), plan, ...given });
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
      const anchor = await need(clusterId);
      if (Number(secretText(anchor, 'sequence') ?? 0) < to) await save(anchor, { sequence: String(to) });
    },
    presentAccess: async (cluster) => accessFrom(await credentialsOf(client, cluster)),
    async planOf(clusterId, sequence) {
      const known = frozenPlanFrom(secretText(cached(clusterId), 'plan'), sequence);
      return known ?? frozenPlanFrom(secretText(await find(clusterId), 'plan'), sequence);
    },
    async accessOf(clusterId, sequence = 0) {
      const anchor = await need(clusterId);
      // An answer from before the operation has the credentials of the one before it, or none.
      if (Number(secretText(anchor, 'sequence') ?? 0) < sequence)
        throw new Error(`the anchor of cluster-id ${clusterId} is older than sequence ${sequence}`);
      return accessFrom({
        username: secretText(anchor, 'username'),
        'ssh-privatekey': secretText(anchor, 'ssh-privatekey'),
        password: secretText(anchor, 'password'),
        known_hosts: secretText(anchor, 'known_hosts'),
        'registry-login': secretText(anchor, 'registry-login'),
      });
    },
    async drop(clusterId, keepTombstone) {
      const anchor = await find(clusterId);
      if (!anchor) return;
      if (!keepTombstone) {
        const { uid, resourceVersion } = anchor.metadata;
        await client.delete(SECRETS, keyOf(clusterId), { preconditions: { uid, resourceVersion } });
        return;
      }
      // The id outlives the cluster for as long as a host may carry its remains; the credentials do not.
      const { sequence = '' } = anchor.data ?? {};
      await client.update(SECRETS, {
        ...anchor,
        metadata: {
          ...anchor.metadata,
          labels: { ...anchor.metadata.labels, [labels.purpose]: 'tombstone' },
        },
        data: { sequence },
      });
    },
  };
}

const clusterOf = ({ metadata }: KubeObject): string | undefined => metadata.annotations?.[marks.cluster];
/** A tombstone is none. */
const isLive = ({ metadata }: KubeObject): boolean => metadata.labels?.[labels.purpose] === 'anchor';
