/** Messages between operator and Job: run spec, inventory, events and report. No I/O. */

import { z } from 'zod';
import { clusterHostSchema } from '#api/cluster-host.ts';
import { shortHash } from '#base/canonical.ts';
import { snapshotTaskSchema } from './snapshot.ts';

/**
 * The work of a run. Its writer has decided everything: no code in the Job depends on an operation's name. The run spec is a
 * file of the attempt's Secret, since an environment variable holds 128 KiB (execve(2), MAX_ARG_STRLEN).
 */

export const ACTIONS = [
  /** Becomes part of the cluster. */
  'join',
  /** Is part of the cluster, and is changed. */
  'change',
  /** Is removed from the cluster and reset. */
  'leave',
  /** Is part of the cluster, and only answers questions or serves the work on others. */
  'stay',
] as const;
export type Action = (typeof ACTIONS)[number];

export const plannedHostSchema = z.object({
  member: clusterHostSchema,
  action: z.enum(ACTIONS),
  /** Id of the cluster whose remains may be wiped on the host. */
  reclaim: z.string().optional(),
  /** Labels and taints that the node got before; the run removes those that are no longer wanted. */
  before: clusterHostSchema.pick({ labels: true, taints: true }).optional(),
  /** /etc/machine-id at the first contact; a different one is another machine. */
  machineId: z.string().optional(),
  /** The machine that the user approved with the plan (`machineSeen`); another machine is not changed. */
  seen: z.string().optional(),
  /** Whether the work is complete even if this host does not answer, as with a host that stays. */
  mayBeAway: z.literal(true).optional(),
});
export type PlannedHost = z.infer<typeof plannedHostSchema>;

/** Returns a hash of /etc/machine-id, which itself must not be shown to every reader of a plan (machine-id(5)). */
export const machineSeen = (machineId: string): string => shortHash(machineId, 16);

/** Owner of a machine that is a node of the meta cluster; no address and no cluster has this name. */
export const META_NODE = 'meta-cluster';

type Planned = Pick<PlannedHost, 'action'>;
export const joins = ({ action }: Planned): boolean => action === 'join';
export const leaves = ({ action }: Planned): boolean => action === 'leave';
/** Whether the host is part of the cluster before and after, changed or not. */
export const stays = ({ action }: Planned): boolean => action === 'stay' || action === 'change';

export const stepSchema = z.object({
  /** Name of the play. */
  name: z.string(),
  /** Addresses of the step's hosts. */
  hosts: z.array(z.string()),
  pace: z.union([z.enum(['all', 'one']), z.object({ atMost: z.int() })]),
  /** The point where a run may be interrupted: between two tasks of the step, or only after its end. */
  cut: z.enum(['between', 'never']),
});
export type Step = z.infer<typeof stepSchema>;

/** Results that a run must deliver for its success to count. */
export const BRINGS = ['kubeconfig'] as const;
export type Brings = (typeof BRINGS)[number];

export const runSpecSchema = z.object({
  /** Name of the operation or auxiliary Job, for users. */
  task: z.string(),
  /** The part of the callback route before its end: `create` of `…/create/callback`. */
  callback: z.string(),
  /** File under ansible/; if absent, hosts are only checked. */
  playbook: z
    .string()
    .regex(/^[a-z0-9-]+\.yml$/)
    .optional(),
  cluster: z.object({ id: z.string(), namespace: z.string(), name: z.string(), region: z.string() }),
  run: z.object({ job: z.string(), sequence: z.int(), attempt: z.int() }),
  steps: z.array(stepSchema),
  hosts: z.array(plannedHostSchema),
  /**
   * Machines on record at other addresses, by `machineSeen`: the address of a host of this cluster, the name of another
   * cluster in the namespace, '' for one in another namespace, or `META_NODE`. None of them may join as another host.
   */
  knownMachines: z.record(z.string(), z.string()).optional(),
  /** Ids of the clusters on record in its namespace. Messages name no other ids. */
  ownClusters: z.array(z.string()).optional(),
  /** SSH user of hosts that name none. */
  username: z.string(),
  /** The checks before the playbook: all that apply to a host's action, or only whether the host answers. */
  precheck: z.enum(['all', 'reach']),
  brings: z.array(z.enum(BRINGS)),
  /** The endpoint of the API: the name that hosts use, and the address behind it ('' if the name resolves). */
  endpoint: z.object({ name: z.string(), address: z.string() }),
  /** The trace of the operation, and the span above that of the run. */
  trace: z.object({ id: z.string(), parent: z.string() }).optional(),
  /** The work of the run with snapshots of etcd; absent: none. */
  snapshot: snapshotTaskSchema.optional(),
  /** Variables of the playbook (ansible/README.md). */
  vars: z.record(z.string(), z.unknown()),
});
export type RunSpec = z.infer<typeof runSpecSchema>;

/** The file of the attempt's Secret that holds the run spec. */
export const RUN_SPEC_FILE = 'order.json';
