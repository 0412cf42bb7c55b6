import { z } from 'zod';

const EVENTS = [
  'play',
  'task',
  'start',
  'ok',
  'changed',
  'failed',
  'ignored',
  'unreachable',
  'skipped',
  'stopped',
  'stats',
  'precheck',
  'info',
  /** The run reached the last play of the playbook: it did everything that its run spec contains. */
  'complete',
] as const;

/** Results that a script can have on a host; a report repeats them. */
export const HOST_RESULTS = ['taken', 'prepared', 'joined', 'changed', 'left', 'reset'] as const;
export type HostResult = (typeof HOST_RESULTS)[number];

const results = z.array(z.enum(HOST_RESULTS));

/** A line of a run's log: the event, its host, its duration. The callback plugin and ansibleinit write it. */
export const eventSchema = z.object({
  time: z.string(),
  event: z.enum(EVENTS),
  play: z.string().optional(),
  task: z.string().optional(),
  /** Address of the host. */
  host: z.string().optional(),
  seconds: z.number().optional(),
  message: z.string().optional(),
  did: results.optional(),
  /** Results of a host's script for other hosts, by address. */
  did_for: z.record(z.string(), results).optional(),
  versions: z.record(z.string(), z.string()).optional(),
  /** Counts by host; only in `stats`. */
  hosts: z.record(z.string(), z.record(z.string(), z.number())).optional(),
});
export type RunEvent = z.infer<typeof eventSchema>;

/** Parses a line of ansible-playbook's output; a line that is no event becomes an `info` event with its text. */
export function eventFrom(line: string, now: Date): RunEvent | undefined {
  if (line.trim() === '') return undefined;
  try {
    const parsed = eventSchema.safeParse(JSON.parse(line));
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: a warning of Ansible, or an error before the first play.
  }
  return { time: now.toISOString(), event: 'info', message: line.slice(0, 2000) };
}
