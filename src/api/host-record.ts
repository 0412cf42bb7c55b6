import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { clusterHostSchema } from './cluster-host.ts';
import type { KubeObject, Resource } from './meta.ts';
import { GROUP } from './names.ts';

/** The kind of a host that belongs to a cluster; it guarantees exclusive use and membership (docs/reference/hosts.md). */
export const HOSTS: Resource = {
  group: GROUP,
  version: 'v1',
  kind: 'Host',
  plural: 'hosts',
  namespaced: true,
};

export const HOST_STATES = [
  /** Held for the cluster, but not part of it (yet). A record without a state counts as held. */
  'Held',
  'Joined',
  /** A running operation removes it. */
  'Leaving',
  /** The host left the cluster and could not be reset. */
  'Unclean',
  /** The host left the cluster. Another machine answered at its address, and was not changed. */
  'Lost',
] as const;
export type HostState = (typeof HOST_STATES)[number];

const text = z.string().max(4096);

export const hostRecordSpecSchema = z.object({
  clusterId: z.string().max(63).meta({ description: 'Id of the cluster that the host belongs to.' }),
  cluster: z.string().max(128).meta({ description: 'Namespace and name of the cluster: namespace/name.' }),
  ...clusterHostSchema.shape,
});

export const hostRecordStatusSchema = z.object({
  state: z.enum(HOST_STATES).optional(),
  leavingBy: z
    .object({ sequence: z.int(), attempt: z.int() })
    .optional()
    .meta({ description: 'First operation and attempt that removed the host.' }),
  touched: z.boolean().optional().meta({
    description: 'Whether a run may have changed the host. An untouched host needs no reset.',
  }),
  taken: z.boolean().optional().meta({
    description: 'Whether its cluster uses an unclean host again. No other cluster may take it.',
  }),
  resets: z.int().optional().meta({
    description: 'Number of further operations that could not reset the host since it left.',
  }),
  machineId: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Content of /etc/machine-id at the first contact.' }),
  hostKeys: z
    .array(z.string().max(8192))
    .max(8)
    .optional()
    .meta({ description: 'SSH host keys, pinned at the first contact: type and base64.' }),
  versions: z.record(z.string(), z.string().max(64)).optional(),
  lastRun: z
    .object({
      operation: text,
      sequence: z.int(),
      attempt: z.int(),
      did: z.array(z.string().max(32)).max(20),
      ok: z.boolean(),
      message: text.optional(),
      at: text,
    })
    .meta({ description: 'Report of the last run on the host.', atomic: true })
    .optional(),
});

export type HostRecordSpec = z.infer<typeof hostRecordSpecSchema>;
export type HostRecordStatus = z.infer<typeof hostRecordStatusSchema>;

export interface HostRecord extends KubeObject {
  spec: HostRecordSpec;
  status?: HostRecordStatus;
}

/** Returns the name of a host's record: its canonical address, for IPv6 in full and with "-", since names have no colons. */
export function hostRecordName(ip: string): string {
  return ip.includes(':') ? ipaddr.IPv6.parse(ip).toNormalizedString().replaceAll(':', '-') : ip;
}

export const stateOf = ({ status }: Pick<HostRecord, 'status'>): HostState => status?.state ?? 'Held';

/** Whether the host is part of its cluster, even if only until the operation that removes it is done. */
export const isInCluster = (record: Pick<HostRecord, 'status'>): boolean =>
  ['Joined', 'Leaving'].includes(stateOf(record));

/**
 * Whether the record belongs to the object called `cluster` (`namespace/name`). The id alone is not enough: a copy with
 * another cluster's id must not get access to that cluster's hosts.
 */
export const isOf = ({ spec }: Pick<HostRecord, 'spec'>, cluster: string): boolean =>
  spec.cluster === cluster;

/** Whether another cluster may take the host: its own cluster could not reset it and does not use it again. */
export const isFree = (record: Pick<HostRecord, 'status'>): boolean =>
  ['Unclean', 'Lost'].includes(stateOf(record)) && record.status?.taken !== true;

/**
 * Returns the ids of other clusters that released hosts, by address. A `Lost` host is left out: another machine has its
 * address.
 */
export const remainsAt = (
  records: readonly (HostRecord | undefined)[],
  clusterId: string | undefined,
): Map<string, string> =>
  new Map(
    records.flatMap((record): [string, string][] =>
      record && isFree(record) && stateOf(record) !== 'Lost' && record.spec.clusterId !== clusterId
        ? [[record.spec.ip, record.spec.clusterId]]
        : [],
    ),
  );
