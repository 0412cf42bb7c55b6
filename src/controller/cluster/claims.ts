import { z } from 'zod';
import { LEASES, type Lease } from '#api/core.ts';
import { hostSchema, LISTS } from '#api/host.ts';
import type { ObjectKey } from '#api/meta.ts';
import { claimName, labels, marks } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import type { Claimed, Member } from '#operations/members.ts';
import { isAlreadyExists, isNotFound } from '#runtime/api-error.ts';
import type { Client } from '#runtime/client.ts';
import { Refusal } from './refusal.ts';

/** Which cluster may touch which host: one Lease a host in the operator's namespace, so the API server arbitrates. */
export interface Claims {
  /**
   * Takes the hosts; answers whose remains, by cluster-id, are on which. Throws Refusal `HostConflict` when one is
   * another cluster's.
   */
  take(clusterId: string, cluster: string, hosts: readonly Member[]): Promise<Map<string, string>>;
  mark(clusterId: string, ip: string, state: Claimed['state'], message?: string): Promise<void>;
  release(clusterId: string, ips: readonly string[]): Promise<void>;
  /** Whether the cluster holds any claim, on the server's own word: before what cannot be undone. */
  holdsAny(clusterId: string): Promise<boolean>;
}

const memberSchema = hostSchema.extend({ name: z.string(), lists: z.array(z.enum(LISTS)) });
const stateSchema = z.enum(['held', 'joined', 'unclean']);

/** A claim's Lease read back; undefined when a person has edited it beyond recognition. */
export function claimedFrom(lease: Lease): Claimed | undefined {
  const annotations = lease.metadata.annotations ?? {};
  const host = memberSchema.safeParse(parseJson(annotations[marks.host]));
  const state = stateSchema.safeParse(annotations[marks.state]);
  if (!host.success || !state.success) return undefined;
  const reclaims = annotations[marks.reclaims];
  return { host: host.data, state: state.data, ...(reclaims ? { reclaims } : {}) };
}

function parseJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

/** Over the client of one reconcile; `cached` answers what the cache has of a claim. */
export function claimsIn(
  client: Client,
  namespace: string,
  clock: Clock,
  cached: (key: ObjectKey) => Lease | undefined = () => undefined,
): Claims {
  const keyOf = (ip: string) => ({ namespace, name: claimName(ip) });
  // The version goes with each write, so a claim that is not what the cache shows is a conflict, never a mistake.
  const find = async (ip: string) => cached(keyOf(ip)) ?? (await client.find<Lease>(LEASES, keyOf(ip)));

  async function takeOne(clusterId: string, cluster: string, host: Member): Promise<string | undefined> {
    const lease: Lease = {
      metadata: {
        ...keyOf(host.ip),
        labels: { [labels.purpose]: 'claim', [labels.clusterId]: clusterId },
        annotations: {
          [marks.cluster]: cluster,
          [marks.state]: 'held',
          [marks.since]: clock.now().toISOString(),
          [marks.host]: JSON.stringify(host),
          ...(host.reclaim === undefined ? {} : { [marks.reclaims]: host.reclaim }),
        },
      },
      spec: { holderIdentity: clusterId },
    };
    try {
      await client.create(LEASES, lease);
      return host.reclaim;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return takeOver(clusterId, host, lease);
    }
  }

  /** A host whose former cluster is gone and could not reset it may be taken; it is reset first. */
  async function takeOver(clusterId: string, host: Member, wanted: Lease): Promise<string | undefined> {
    const found = await client.get<Lease>(LEASES, keyOf(host.ip));
    const holder = found.spec?.holderIdentity;
    const annotations = found.metadata.annotations ?? {};
    if (holder === clusterId) return annotations[marks.reclaims];
    if (annotations[marks.state] !== 'unclean' || holder === undefined) {
      throw new Refusal('HostConflict', `host ${host.ip} belongs to ${annotations[marks.cluster] ?? holder}`);
    }
    await client.update(LEASES, {
      ...wanted,
      metadata: {
        ...wanted.metadata,
        resourceVersion: found.metadata.resourceVersion ?? '',
        annotations: { ...wanted.metadata.annotations, [marks.reclaims]: holder },
      },
    });
    return holder;
  }

  return {
    async holdsAny(clusterId) {
      const labelSelector = `${labels.purpose}=claim,${labels.clusterId}=${clusterId}`;
      return (await client.list<Lease>(LEASES, { namespace, labelSelector, limit: 1 })).items.length > 0;
    },
    async take(clusterId, cluster, hosts) {
      // One after the other, in order of address: two clusters that want the same hosts cannot each hold half.
      const reclaims = new Map<string, string>();
      for (const host of [...hosts].sort((a, b) => (a.ip < b.ip ? -1 : 1))) {
        const former = await takeOne(clusterId, cluster, host);
        if (former !== undefined) reclaims.set(host.ip, former);
      }
      return reclaims;
    },
    async mark(clusterId, ip, state, message) {
      const lease = await find(ip);
      if (!lease || lease.spec?.holderIdentity !== clusterId) return;
      const {
        [marks.message]: _said,
        [marks.reclaims]: reclaims,
        ...kept
      } = lease.metadata.annotations ?? {};
      const annotations = {
        ...kept,
        [marks.state]: state,
        [marks.since]: clock.now().toISOString(),
        ...(message === undefined ? {} : { [marks.message]: message.slice(0, 500) }),
        ...(state === 'joined' || reclaims === undefined ? {} : { [marks.reclaims]: reclaims }),
      };
      await client.update(LEASES, { ...lease, metadata: { ...lease.metadata, annotations } });
    },
    async release(clusterId, ips) {
      for (const ip of ips) {
        const lease = await find(ip);
        if (!lease || lease.spec?.holderIdentity !== clusterId) continue;
        const { uid, resourceVersion } = lease.metadata;
        try {
          await client.delete(LEASES, keyOf(ip), { preconditions: { uid, resourceVersion } });
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }
    },
  };
}
