import { z } from 'zod';
import { CONTINUED, logText } from '#protocol/log-text.ts';

/** An event of a run, as ansibleinit sends it; newer runners may add fields. */
const eventSchema = z.object({
  time: z.string().default(''),
  event: z.string().default('info'),
  play: z.string().optional(),
  task: z.string().optional(),
  host: z.string().optional(),
  seconds: z.number().optional(),
  message: z.string().optional(),
});

/** Returns the event of a line; undefined for a line that was cut, or that is not JSON. Such a line is text of a host. */
export function eventIn(line: string): z.infer<typeof eventSchema> | undefined {
  try {
    return eventSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

const SPACE = '  ';

/**
 * Formats one line of NDJSON for users: time, host, task, result, seconds, message.
 * @example lineFrom('{"time":"2026-01-01T10:00:00Z","event":"ok","host":"a","task":"Join","seconds":1.24}')
 * // '10:00:00  a  Join  ok  1.2 s'
 */
export function lineFrom(json: string): string {
  const found = eventIn(json);
  if (!found) return `${CONTINUED}${logText(json)}`;
  const { time, event, play, task, host, seconds, message } = found;
  const what = event === 'play' ? `PLAY ${play ?? ''}` : (task ?? '');
  return [
    time.slice(11, 19),
    host ?? '',
    what,
    event === 'play' || event === 'task' || event === 'info' ? '' : event,
    seconds === undefined ? '' : `${seconds.toFixed(1)} s`,
    message ?? '',
  ]
    .filter((part) => part !== '')
    .map(logText)
    .join(SPACE);
}

/** Formats NDJSON; returns an incomplete last line as `rest`, for the next call. */
export function textFrom(ndjson: string): { text: string; rest: string } {
  const end = ndjson.lastIndexOf('\n') + 1;
  const lines = ndjson.slice(0, end).split('\n');
  const text = lines
    .filter((line) => line !== '')
    .map((line) => `${lineFrom(line)}\n`)
    .join('');
  return { text, rest: ndjson.slice(end) };
}
