import { z } from 'zod';
import { memberSchema } from '#api/member.ts';
import { shortHash } from '#base/canonical.ts';

/**
 * What a run is to do. The decision was made by whoever wrote it: nothing in the Job looks at an operation's name. It
 * travels as a file of the attempt's Secret, since an environment variable holds 128 KiB (execve(2), MAX_ARG_STRLEN).
 */

export const ACTIONS = [
  /** Becomes part of the cluster. */
  'join',
  /** Is part of it, and something of it changes. */
  'change',
  /** Is taken out and reset. */
  'leave',
  /** Is part of it, and is only asked or worked through. */
  'stay',
] as const;
export type Action = (typeof ACTIONS)[number];

export const plannedHostSchema = z.object({
  member: memberSchema,
  action: z.enum(ACTIONS),
  /** Id of the cluster whose remains may be wiped there. */
  reclaim: z.string().optional(),
  /** Labels and taints that its node was given before; those that are not wanted any more are taken away. */
  before: memberSchema.pick({ labels: true, taints: true }).optional(),
  /** /etc/machine-id as it was at the first contact; another one is another machine. */
  machineId: z.string().optional(),
  /** Which machine was there when its plan was agreed to (`machineSeen`); another one gets nothing. */
  seen: z.string().optional(),
  /** The work is done without it where it does not answer, as without one that only stays. */
  mayBeAway: z.literal(true).optional(),
});
export type PlannedHost = z.infer<typeof plannedHostSchema>;

/** A machine by its /etc/machine-id, which itself is not for everybody who reads a plan (machine-id(5)). */
export const machineSeen = (machineId: string): string => shortHash(machineId, 16);

type Planned = Pick<PlannedHost, 'action'>;
export const joins = ({ action }: Planned): boolean => action === 'join';
export const leaves = ({ action }: Planned): boolean => action === 'leave';
/** It is part of the cluster before and after, changed or not. */
export const stays = ({ action }: Planned): boolean => action === 'stay' || action === 'change';

export const stepSchema = z.object({
  /** Name of the play. */
  name: z.string(),
  /** Addresses of the hosts that it works on. */
  hosts: z.array(z.string()),
  pace: z.union([z.enum(['all', 'one']), z.object({ atMost: z.int() })]),
  /** Where a run may be cut off: between two tasks of the step, or not before its end. */
  cut: z.enum(['between', 'never']),
});
export type Step = z.infer<typeof stepSchema>;

/** What a run must bring back for its success to count. */
export const BRINGS = ['kubeconfig'] as const;
export type Brings = (typeof BRINGS)[number];

export const runSpecSchema = z.object({
  /** Name of the operation or auxiliary Job, for people. */
  task: z.string(),
  /** Last part but one of the route that takes the report: `create` of `…/create/callback`. */
  callback: z.string(),
  /** File under ansible/; absent: hosts are only looked at. */
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
   * cluster of the namespace, or '' for one of another namespace. None of them may join as another host.
   */
  knownMachines: z.record(z.string(), z.string()).optional(),
  /** Ids of the clusters of its namespace that are on record. No message names the ids of others. */
  ownClusters: z.array(z.string()).optional(),
  /** SSH user where a host names none. */
  username: z.string(),
  /** Which checks are made before the playbook: all that fit a host's action, or whether it answers. */
  precheck: z.enum(['all', 'reach']),
  brings: z.array(z.enum(BRINGS)),
  /** Where clients of the API find it: the name that hosts use, and the address behind it ('' where the name resolves). */
  endpoint: z.object({ name: z.string(), address: z.string() }),
  /** Variables of the playbook (ansible/README.md). */
  vars: z.record(z.string(), z.unknown()),
});
export type RunSpec = z.infer<typeof runSpecSchema>;

/** The file of the attempt's Secret that holds the run spec. */
export const RUN_SPEC_FILE = 'order.json';
