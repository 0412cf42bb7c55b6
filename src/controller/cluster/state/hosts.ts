import { otherCluster } from '#api/cluster-facts.ts';
import type { ClusterHost } from '#api/cluster-host.ts';
import { canonicalIp } from '#api/host.ts';
import {
  HOSTS,
  type HostRecord,
  type HostRecordSpec,
  type HostRecordStatus,
  hostRecordName,
  isFree,
  remainsAt,
  stateOf,
} from '#api/host-record.ts';
import type { ObjectKey } from '#api/meta.ts';
import { internalAnnotations, labels } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isNotFound } from '#runtime/wire/api-error.ts';
import { Refusal, Undecided } from '../decide/refusal.ts';

/** Assigns hosts to clusters: one Host record for each address in the operator's namespace, so the API server arbitrates. */
export interface Hosts {
  /**
   * Holds the hosts. Updates the records of hosts that the cluster already holds and that have not joined. Returns all
   * records. Throws Refusal `HostConflict` that names every host of another cluster; throws Undecided if `isUndecided` is true
   * for each of their records. Holds no host after the first of another cluster.
   */
  hold(
    clusterId: string,
    cluster: string,
    hosts: readonly ClusterHost[],
    isUndecided?: (record: HostRecord) => Promise<boolean>,
  ): Promise<HostRecord[]>;
  /** Holds a host whose record is gone, as touched; a host of another cluster stays with that cluster. */
  holdAgain(clusterId: string, cluster: string, host: ClusterHost): Promise<void>;
  /** Throws Refusal `HostConflict` that names every host of another cluster; holds none. */
  refuseOthers(clusterId: string, cluster: string, hosts: readonly ClusterHost[]): Promise<void>;
  /** Writes what a run reported of a host that the cluster holds; fields that are left out stay. */
  note(clusterId: string, ip: string, status: HostRecordStatus): Promise<void>;
  /** Writes the present name, labels and roles of a joined host. */
  rewrite(clusterId: string, host: ClusterHost): Promise<void>;
  release(clusterId: string, ips: readonly string[]): Promise<void>;
  /** Whether the cluster holds any host, read from the API server: the next step cannot be undone. */
  holdsAny(clusterId: string): Promise<boolean>;
  ofCluster(clusterId: string): Promise<HostRecord[]>;
}

const isOfOther = (clusterId: string, record: HostRecord): boolean =>
  record.spec.clusterId !== clusterId && !isFree(record);

const selects = (clusterId: string): string => `${labels.clusterId}=${clusterId}`;

/** Returns the Host records over the client of one reconcile; `cached` returns a record from the cache. */
export function hostsIn(
  client: Client,
  namespace: string,
  cached: (key: ObjectKey) => HostRecord | undefined = () => undefined,
): Hosts {
  const keyOf = (ip: string): ObjectKey => ({ namespace, name: hostRecordName(ip) });
  // Each write carries the resourceVersion, so an outdated cache causes a conflict and never a wrong write.
  const find = async (ip: string) => cached(keyOf(ip)) ?? (await client.find<HostRecord>(HOSTS, keyOf(ip)));

  const recordOf = (spec: HostRecordSpec): HostRecord => ({
    metadata: {
      ...keyOf(spec.ip),
      labels: { [labels.purpose]: 'host', [labels.clusterId]: spec.clusterId },
      annotations: {
        [internalAnnotations.cluster]: spec.cluster,
        [internalAnnotations.duties]: spec.duties.join(','),
      },
    },
    spec,
  });

  async function createOrGet(wanted: HostRecord): Promise<HostRecord> {
    try {
      return await client.create<HostRecord>(HOSTS, wanted);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return client.get<HostRecord>(HOSTS, keyOf(wanted.spec.ip));
  }

  /** Returns the wanted record, or undefined if the host belongs to another cluster. */
  async function holdOne(wanted: HostRecord): Promise<HostRecord | undefined> {
    const { ip, clusterId } = wanted.spec;
    const found = cached(keyOf(ip)) ?? (await createOrGet(wanted));
    const holder = found.spec.clusterId;
    if (holder === clusterId) {
      if (stateOf(found) === 'Joined') return found;
      const { reclaim = found.spec.reclaim, ...said } = wanted.spec;
      const spec = { ...said, ...(reclaim === undefined ? {} : { reclaim }) };
      return taken(await save(found, { ...wanted, spec }));
    }
    if (!isFree(found)) return undefined;
    // A host that its former cluster could not reset is reset first.
    const remains = remainsAt([found], clusterId).get(ip);
    const reclaim = remains === undefined ? {} : { reclaim: remains };
    return taken(await save(found, { ...wanted, spec: { ...wanted.spec, ...reclaim } }));
  }

  /** Marks a reused host as taken before any run: another cluster must not find it free. */
  async function taken(record: HostRecord): Promise<HostRecord> {
    if (!isFree(record)) return record;
    return client.updateStatus<HostRecord>(HOSTS, { ...record, status: { ...record.status, taken: true } });
  }

  /** Returns which cluster has a host, for a message. */
  const heldBy = ({ spec }: HostRecord, asker: string): string =>
    `${spec.ip} belongs to ${otherCluster(spec.cluster, asker.split('/')[0] ?? '')}`;

  /** Returns the records of those hosts that other clusters hold. */
  async function recordsOfOthers(clusterId: string, hosts: readonly ClusterHost[]): Promise<HostRecord[]> {
    const found = await Promise.all(hosts.map(({ ip }) => find(ip)));
    return found.flatMap((record) => (record && isOfOther(clusterId, record) ? [record] : []));
  }

  /** Throws Undecided or Refusal if there are records of other clusters. */
  async function refuse(
    others: readonly HostRecord[],
    cluster: string,
    isUndecided: (record: HostRecord) => Promise<boolean>,
  ): Promise<void> {
    if (others.length === 0) return;
    const message = others.map((record) => heldBy(record, cluster)).join('; ');
    const undecided = await Promise.all(others.map(isUndecided));
    if (undecided.every(Boolean)) throw new Undecided(message);
    throw new Refusal('HostConflict', message);
  }

  async function save(found: HostRecord, wanted: HostRecord): Promise<HostRecord> {
    const same =
      canonicalJson([found.spec, found.metadata.labels]) ===
      canonicalJson([wanted.spec, wanted.metadata.labels]);
    if (same) return found;
    return client.update<HostRecord>(HOSTS, {
      ...found,
      metadata: { ...found.metadata, ...wanted.metadata },
      spec: wanted.spec,
    });
  }

  return {
    async hold(clusterId, cluster, hosts, isUndecided = async () => false) {
      const records: HostRecord[] = [];
      // The cache shows most conflicts before any host is held: an operation that waits or fails then holds none.
      await refuse(
        hosts.flatMap(({ ip }) => cached(keyOf(ip)) ?? []).filter((record) => isOfOther(clusterId, record)),
        cluster,
        isUndecided,
      );
      // In order of address, one after the other: two clusters that want the same hosts cannot hold half of them each.
      const sorted = [...hosts].sort((a, b) => (a.ip < b.ip ? -1 : 1));
      for (const host of sorted) {
        const record = await holdOne(recordOf({ clusterId, cluster, ...host }));
        if (!record) break;
        records.push(record);
      }
      if (records.length === sorted.length) return records;
      await refuse(await recordsOfOthers(clusterId, sorted.slice(records.length)), cluster, isUndecided);
      throw new Undecided(`${sorted[records.length]?.ip} was released a moment ago`);
    },
    async holdAgain(clusterId, cluster, host) {
      const record = await createOrGet(recordOf({ clusterId, cluster, ...host }));
      if (record.spec.clusterId !== clusterId || record.status?.touched === true) return;
      await client.updateStatus<HostRecord>(HOSTS, {
        ...record,
        status: { state: 'Held', ...record.status, touched: true },
      });
    },
    async refuseOthers(clusterId, cluster, hosts) {
      const others = await recordsOfOthers(clusterId, hosts);
      if (others.length > 0)
        throw new Refusal('HostConflict', others.map((record) => heldBy(record, cluster)).join('; '));
    },
    async note(clusterId, ip, status) {
      const found = await find(ip);
      if (found?.spec.clusterId !== clusterId) return;
      const next = { ...found.status, ...status };
      if (canonicalJson(next) === canonicalJson(found.status ?? {})) return;
      await client.updateStatus<HostRecord>(HOSTS, { ...found, status: next });
    },
    async rewrite(clusterId, host) {
      const found = await find(host.ip);
      if (found?.spec.clusterId !== clusterId) return;
      const { cluster } = found.spec;
      await save(found, recordOf({ clusterId, cluster, ...host }));
    },
    async release(clusterId, ips) {
      for (const ip of ips) {
        const found = await find(ip);
        if (found?.spec.clusterId !== clusterId) continue;
        const { uid, resourceVersion } = found.metadata;
        try {
          await client.delete(HOSTS, keyOf(ip), { preconditions: { uid, resourceVersion } });
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }
    },
    async holdsAny(clusterId) {
      const query = { namespace, labelSelector: selects(clusterId), limit: 1 };
      return (await client.list<HostRecord>(HOSTS, query)).items.length > 0;
    },
    async ofCluster(clusterId) {
      return (await client.list<HostRecord>(HOSTS, { namespace, labelSelector: selects(clusterId) })).items;
    },
  };
}

/** Returns the known_hosts line of a host key (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). */
const lineOf = ({ ip, port = 22 }: Pick<ClusterHost, 'ip' | 'port'>, key: string): string =>
  `${port === 22 ? ip : `[${ip}]:${port}`} ${key}\n`;

/** Returns the host keys of the records as known_hosts lines. */
export const pinnedKeysOf = (records: readonly Pick<HostRecord, 'spec' | 'status'>[]): string =>
  records
    .flatMap(({ spec, status }) =>
      (status?.hostKeys ?? []).map((key) => lineOf({ ...spec, ip: canonicalIp(spec.ip) ?? spec.ip }, key)),
    )
    .join('');
