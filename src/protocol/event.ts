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
  /** The last play of the playbook was reached: the run did everything that was ordered. */
  'complete',
] as const;

/** Achievements of a script on a host; a report repeats them. */
export const HOST_RESULTS = ['taken', 'prepared', 'joined', 'changed', 'left', 'reset'] as const;
export type HostResult = (typeof HOST_RESULTS)[number];

const results = z.array(z.enum(HOST_RESULTS));

/** One line of a run's log: what happened, where, how long it took. Written by the callback plugin and by ansibleinit. */
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
  /** What a host's script achieved for other hosts, by address. */
  did_for: z.record(z.string(), results).optional(),
  versions: z.record(z.string(), z.string()).optional(),
  /** Counts by host; of `stats` only. */
  hosts: z.record(z.string(), z.record(z.string(), z.number())).optional(),
});
export type RunEvent = z.infer<typeof eventSchema>;

/** An event from a line of ansible-playbook's output; other lines become information as they stand. */
export function eventFrom(line: string, now: Date): RunEvent | undefined {
  if (line.trim() === '') return undefined;
  try {
    const parsed = eventSchema.safeParse(JSON.parse(line));
    if (parsed.success) return parsed.data;
  } catch {
    // No JSON: a warning of Ansible's, or an error before the first play.
  }
  return { time: now.toISOString(), event: 'info', message: line.slice(0, 2000) };
}
