import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { memberSchema } from './member.ts';
import type { KubeObject, Resource } from './meta.ts';
import { GROUP } from './names.ts';

/** The kind of a host that belongs to a cluster: exclusivity and membership rest on it (docs/reference/hosts.md). */
export const HOSTS: Resource = {
  group: GROUP,
  version: 'v1',
  kind: 'Host',
  plural: 'hosts',
  namespaced: true,
};

export const HOST_STATES = [
  /** Taken for the cluster, and not part of it (yet). What has no state is held. */
  'Held',
  'Joined',
  /** An operation that runs takes it out. */
  'Leaving',
  /** It left the cluster and could not be reset. */
  'Unclean',
  /** It left the cluster, and another machine answered at its address, which was left as it is. */
  'Lost',
] as const;
export type HostState = (typeof HOST_STATES)[number];

const text = z.string().max(4096);

export const hostRecordSpecSchema = z.object({
  clusterId: z.string().max(63).meta({ description: 'Id of the cluster that the host belongs to.' }),
  cluster: z.string().max(128).meta({ description: 'Namespace and name of the cluster: namespace/name.' }),
  ...memberSchema.shape,
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

/** The name of a host's record: its canonical address, an IPv6 one written out with "-" (names have no colons). */
export function hostRecordName(ip: string): string {
  return ip.includes(':') ? ipaddr.IPv6.parse(ip).toNormalizedString().replaceAll(':', '-') : ip;
}

export const stateOf = ({ status }: Pick<HostRecord, 'status'>): HostState => status?.state ?? 'Held';

/** Whether it is part of its cluster, if only until the operation that takes it out is done. */
export const isMember = (record: Pick<HostRecord, 'status'>): boolean =>
  ['Joined', 'Leaving'].includes(stateOf(record));

/**
 * Whether it is the record of a host of the object called `cluster` (`namespace/name`). Not by its id alone: a copy that
 * carries the id of another must lead nobody to the hosts of that one.
 */
export const isOf = ({ spec }: Pick<HostRecord, 'spec'>, cluster: string): boolean =>
  spec.cluster === cluster;

/** Whether another cluster may take it: it left its own, which could not reset it and does not use it again. */
export const isFree = (record: Pick<HostRecord, 'status'>): boolean =>
  ['Unclean', 'Lost'].includes(stateOf(record)) && record.status?.taken !== true;

/** Ids of other clusters that are rid of hosts, by address: what answers at the address of a `Lost` one is not its. */
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
