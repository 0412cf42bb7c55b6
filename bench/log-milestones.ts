import { z } from 'zod';
import type { Client } from '#runtime/client/client.ts';
import { logSourceIn } from '#server/logs/log-source.ts';
import type { Milestone } from './run.ts';

const NAMESPACE = 'matryoshka-reports';

const eventSchema = z.object({
  time: z.coerce.date(),
  event: z.string(),
  play: z.string().optional(),
  task: z.string().optional(),
  host: z.string().optional(),
});
type Event = z.infer<typeof eventSchema>;

/** Returns the stored events of a Job, with milliseconds, which the readable log does not have. */
async function eventsOf(client: Client, job: string): Promise<Event[]> {
  const { text } = await logSourceIn(client, NAMESPACE).tail(job, Number.POSITIVE_INFINITY);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => eventSchema.parse(JSON.parse(line)));
}

/** A moment of a run: the first or last event that matches. */
const MOMENTS: readonly {
  what: string;
  which: 'first' | 'last';
  like: (event: Event, master: string) => boolean;
}[] = [
  { what: 'runner says its first word', which: 'first', like: () => true },
  { what: 'precheck over', which: 'last', like: ({ event }) => event === 'precheck' },
  { what: 'Ansible started', which: 'first', like: ({ event }) => event === 'play' },
  {
    what: 'hosts taken',
    which: 'first',
    like: ({ event, play }) => event === 'play' && play?.startsWith('Prepare') === true,
  },
  { what: 'master prepared', which: 'last', like: ended('Host, runtime', true) },
  { what: 'worker prepared', which: 'last', like: ended('Host, runtime', false) },
  { what: 'control plane initialised', which: 'last', like: ended('Control plane', true) },
  {
    what: 'token at hand',
    which: 'first',
    like: ({ event, play }) => event === 'play' && play?.startsWith('Join hosts') === true,
  },
  { what: 'pod network applied', which: 'last', like: ended('Pod network', true) },
  { what: 'workers joined', which: 'last', like: ended('Join', false) },
  {
    what: 'wait for Ready begun',
    which: 'first',
    like: ({ event, play }) => event === 'play' && play?.startsWith('Await') === true,
  },
  { what: 'nodes Ready, system pods running', which: 'last', like: ended('Nodes ready', true) },
  { what: 'playbook over', which: 'last', like: ({ event }) => event === 'stats' },
];

/** Matches the end of a task, on the control plane or on a worker. */
function ended(task: string, onMaster: boolean): (event: Event, master: string) => boolean {
  return ({ event, task: name = '', host }, master) =>
    (event === 'ok' || event === 'changed') && name.includes(task) && (host === master) === onMaster;
}

/** Returns the seconds of a task on its slowest host; NaN if the run had no task with that name. */
export async function secondsOf(client: Client, job: string, task: string): Promise<number> {
  const begun = new Map<string, number>();
  let longest = Number.NaN;
  for (const { event, task: name = '', host = '', time } of await eventsOf(client, job)) {
    if (!name.includes(task)) continue;
    if (event === 'start') begun.set(host, time.getTime());
    const startMs = begun.get(host);
    if (event !== 'ok' && event !== 'changed') continue;
    if (startMs !== undefined) longest = Math.max(time.getTime() - startMs, longest || 0);
  }
  return longest / 1000;
}

/** Returns the tasks of a run that took a second or more, on each host, with their times of day. */
export async function longTasks(client: Client, job: string): Promise<string[]> {
  const begun = new Map<string, Date>();
  const lines: string[] = [];
  for (const { event, task = '', host = '', time } of await eventsOf(client, job)) {
    const key = `${host} ${task}`;
    if (event === 'start') begun.set(key, time);
    const since = begun.get(key);
    if (event === 'start' || since === undefined) continue;
    begun.delete(key);
    const seconds = (time.getTime() - since.getTime()) / 1000;
    if (seconds >= 1)
      lines.push(`${since.toISOString().slice(11, 21)} ${seconds.toFixed(1).padStart(6)} s  ${key}`);
  }
  return lines;
}

/** Returns the times of a creation's milestones from its log. Milestones that the log does not have are left out. */
export async function logMilestones(
  client: Client,
  job: string,
  master: string,
  startMs: number,
): Promise<Milestone[]> {
  const events = await eventsOf(client, job);
  return MOMENTS.flatMap(({ what, which, like }) => {
    const found = events.filter((event) => like(event, master));
    const event = which === 'first' ? found[0] : found.at(-1);
    return event ? [{ what, at: (event.time.getTime() - startMs) / 1000 }] : [];
  });
}
