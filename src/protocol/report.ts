import { z } from 'zod';
import { plainLines } from '#base/plain-text.ts';
import { HOST_RESULTS } from './event.ts';
import { snapshotReportSchema } from './snapshot.ts';

/** Cuts long texts instead of refusing them: a refused report would help no user. A terminal shows the text as it is. */
const cut = (length: number) => z.string().transform((text) => plainLines(text).slice(0, length));

/** Most components whose versions a host reports. */
const MAX_VERSIONS = 50;
/** Most results of a host, which has each of them once. */
const MAX_DID = 20;

/** The report on one host of the run. */
export const hostReportSchema = z.object({
  ip: z.string().max(45),
  /** Whether the host is what its action demands: joined, changed, reset. */
  ok: z.boolean(),
  did: z.array(z.enum(HOST_RESULTS)).max(MAX_DID).default([]),
  message: cut(1000).optional(),
  machineId: z.string().max(64).optional(),
  /** Type and base64 of each SSH host key that the host presented. */
  hostKeys: z.array(z.string().max(8192)).max(8).optional(),
  versions: z
    .record(z.string().max(64), z.string().max(64))
    .refine((versions) => Object.keys(versions).length <= MAX_VERSIONS, {
      error: `has more than ${MAX_VERSIONS} entries`,
    })
    .optional(),
});
export type HostReport = z.infer<typeof hostReportSchema>;

/** The reason of a run that ended because its operation was cancelled. */
export const CANCELLED = 'Cancelled';

/** No cluster comes to so many operations: a host that reports a higher number has damaged data. */
export const MAX_SEQUENCE = 1_000_000_000;

/** The report of a run at its end: to the server, and from there to the controller. */
export const reportSchema = z.object({
  success: z.boolean(),
  reason: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Cause of a failure in CamelCase: HostUnreachable, PrecheckFailed.' }),
  message: cut(32_768).default(''),
  kubeconfig: z.string().max(262_144).optional(),
  /** All hosts of the run spec, also after a failure. */
  hosts: z.array(hostReportSchema).max(5000).default([]),
  /** Whether a task was interrupted: its connection was lost, or Ansible died. */
  cutShort: z.boolean().optional(),
  /** The latest sequence that hosts of this cluster know, if the run's own is earlier. */
  hostsAt: z.int().min(0).max(MAX_SEQUENCE).optional(),
  /** Steps that started on a host, in order; absent if not reported. */
  steps: z.array(z.string().max(200)).max(100).optional(),
  snapshots: snapshotReportSchema.optional(),
});
export type Report = z.infer<typeof reportSchema>;

/** Parses a report; undefined if the text is not one. */
export function reportFrom(text: string | undefined): Report | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return reportSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
