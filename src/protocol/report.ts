import { z } from 'zod';
import { HOST_RESULTS } from './event.ts';

/** Long texts are cut rather than refused: a report that is not taken helps nobody. */
const cut = (length: number) => z.string().transform((text) => text.slice(0, length));

/** Components whose versions a host reports. */
const MAX_VERSIONS = 50;
/** A host does each thing once. */
const MAX_DID = 20;

/** The report on one host that a run was to touch. */
export const hostReportSchema = z.object({
  ip: z.string().max(45),
  /** Whether it is as its action wants it: joined, changed, reset. */
  ok: z.boolean(),
  did: z.array(z.enum(HOST_RESULTS)).max(MAX_DID).default([]),
  message: cut(1000).optional(),
  machineId: z.string().max(64).optional(),
  /** Type and base64 of each SSH host key that it showed. */
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

/** No installation comes to so many operations of one cluster: what a host says beyond that is damaged. */
export const MAX_SEQUENCE = 1_000_000_000;

/** The report of a run at its end: to the server, and through it to the controller. */
export const reportSchema = z.object({
  success: z.boolean(),
  reason: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'Cause of a failure in CamelCase: HostUnreachable, PrecheckFailed.' }),
  message: cut(32_768).default(''),
  kubeconfig: z.string().max(262_144).optional(),
  /** Every host of the run spec, on failure too. */
  hosts: z.array(hostReportSchema).max(5000).default([]),
  /** A task was cut off: the connection was lost while it ran, or Ansible died. */
  cutShort: z.boolean().optional(),
  /** The latest sequence that hosts of this cluster know, where the run's lies behind it. */
  hostsAt: z.int().min(0).max(MAX_SEQUENCE).optional(),
  /** Steps that came to a host, in order; absent: not told. */
  steps: z.array(z.string().max(200)).max(100).optional(),
});
export type Report = z.infer<typeof reportSchema>;

/** The report in a text; undefined when it holds none. */
export function reportFrom(text: string | undefined): Report | undefined {
  if (text === undefined || text === '') return undefined;
  try {
    return reportSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
