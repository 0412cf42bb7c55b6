import type { RunEvent } from '#protocol/event.ts';
import {
  ASK_MS,
  CHUNK_BYTES,
  FLUSH_BYTES,
  FLUSH_MS,
  FOLLOWED_FLUSH_MS,
  LOG_BYTES,
  LONGEST_FLUSH_MS,
  logAnswerSchema,
} from '#protocol/log.ts';
import { logText } from '#protocol/log-text.ts';
import { postUntilAnswered, type Way } from './server-client.ts';

const TICK_MS = 300;
/** By how much later lines are sent for each chunk before them: an hour makes some 250 chunks. */
const LATER_MS = 100;
const NEWLINE = 10;
/** Of one field of an event that is too long for a chunk, in UTF-16 units: JSON may take six bytes for one. */
const MAX_TEXT = 16_384;

/** The way of a run's events. */
export interface Uplink {
  send(event: RunEvent): void;
  step(name: string): void;
  /** Aborts when the server says that the run is cancelled. */
  readonly cancelled: AbortSignal;
  /** Sends what is left, for at most `ms`. */
  close(ms: number): Promise<void>;
}

/**
 * The end of a chunk that begins at `from`: whole lines only, since a character that is cut in two would not be the
 * same bytes at the other end. A line that is longer than a chunk is one by itself.
 */
function endOfChunk(spool: Buffer, from: number): number {
  const end = spool.lastIndexOf(NEWLINE, from + CHUNK_BYTES - 1) + 1;
  return end > from ? end : spool.indexOf(NEWLINE, from) + 1;
}

/** The event as a line that the server takes whatever is in it: longer texts are cut. */
function ndjsonOf(event: RunEvent): Buffer {
  const line = Buffer.from(`${JSON.stringify(event)}\n`);
  if (line.length <= CHUNK_BYTES) return line;
  const cut = Object.entries(event).flatMap(([name, value]) => {
    if (typeof value !== 'string') return typeof value === 'number' ? [[name, value]] : [];
    return [[name, value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… (cut)` : value]];
  });
  return Buffer.from(`${JSON.stringify(Object.fromEntries(cut))}\n`);
}

/** One line for people: when, what, where. */
const lineOf = ({ time, event, play, task, host, seconds, message }: RunEvent): string =>
  [
    time.slice(11, 19),
    event.padEnd(8),
    host ?? '',
    task ?? play ?? '',
    seconds === undefined ? '' : `${seconds.toFixed(1)} s`,
    message ?? '',
  ]
    .filter((part) => part !== '')
    .map(logText)
    .join('  ');

/** Said by another event as well, which tells more. */
const QUIET = new Set<RunEvent['event']>(['task', 'skipped', 'stats']);

/** Prints events as lines; for runs by hand. */
export const printing = (write: (line: string) => void): Uplink => ({
  send: (event) => {
    if (!QUIET.has(event.event)) write(lineOf(event));
  },
  step: () => {},
  cancelled: new AbortController().signal,
  close: async () => {},
});

/**
 * Sends events to the server in chunks (job, offset). A chunk is repeated until it is answered; the answer names the
 * offset from which to go on, so a repeat or a new server replica neither doubles nor loses a line.
 */
export function streaming(settings: Way, job: string, print: (line: string) => void): Uplink {
  const stop = new AbortController();
  let spool = Buffer.alloc(0);
  let sent = 0;
  let step = 'precheck';
  let toldStep = '';
  let flushing: Promise<void> | undefined;
  let askedAtMs = performance.now();
  let chunks = 0;
  let unsentSinceMs: number | undefined;
  let isFollowed = false;
  const cancelled = new AbortController();

  /** One request; the answer's offset. Without a step it stores nothing, and only asks. */
  async function post(chunk: Buffer, now?: string): Promise<number> {
    const query = new URLSearchParams({ offset: String(sent), ...(now === undefined ? {} : { step: now }) });
    const path = `/api/v1/jobs/${job}/log?${query}`;
    const text = chunk.toString('utf8');
    const { status, body } = await postUntilAnswered(
      settings,
      path,
      text,
      'application/x-ndjson',
      stop.signal,
    );
    if (status >= 300 && status !== 409)
      throw new Error(`the server refused the log: ${status} ${body.slice(0, 200)}`);
    askedAtMs = performance.now();
    const answer = logAnswerSchema.parse(JSON.parse(body));
    isFollowed = answer.followed ?? false;
    if (answer.stop) cancelled.abort(new Error('the operation was cancelled'));
    return answer.next;
  }

  /** How long lines are gathered. */
  const patienceMs = (): number =>
    isFollowed ? FOLLOWED_FLUSH_MS : Math.min(Math.max(FLUSH_MS, chunks * LATER_MS), LONGEST_FLUSH_MS);

  /** Whether lines are sent now: a new step, many lines, or one that has waited for long enough. */
  const isDue = (): boolean =>
    step !== toldStep ||
    spool.length - sent >= FLUSH_BYTES ||
    (unsentSinceMs !== undefined && performance.now() - unsentSinceMs >= patienceMs());

  async function flush(isLast: boolean): Promise<void> {
    while ((isLast || isDue()) && (sent < spool.length || step !== toldStep)) {
      const now = step;
      const next = await post(spool.subarray(sent, endOfChunk(spool, sent)), now);
      sent = Math.min(next, spool.length);
      toldStep = now;
      chunks += 1;
    }
    if (sent >= spool.length) unsentSinceMs = undefined;
    // A task that says nothing for minutes is to hear of it as well.
    if (performance.now() - askedAtMs >= ASK_MS) await post(Buffer.alloc(0));
  }

  function begin(isLast = false): void {
    flushing ??= flush(isLast)
      .catch((error: unknown) =>
        print(`the log could not be sent: ${error instanceof Error ? error.message : error}`),
      )
      .finally(() => {
        flushing = undefined;
      });
  }

  const timer = setInterval(begin, TICK_MS);
  return {
    cancelled: cancelled.signal,
    send(event) {
      if (!QUIET.has(event.event)) print(lineOf(event));
      const line = ndjsonOf(event);
      if (spool.length + line.length > LOG_BYTES) return;
      spool = Buffer.concat([spool, line]);
      unsentSinceMs ??= performance.now();
    },
    step(name) {
      step = name;
    },
    async close(ms) {
      clearInterval(timer);
      const giveUp = setTimeout(() => stop.abort(new Error('out of time')), ms);
      await flushing;
      begin(true);
      await flushing;
      clearTimeout(giveUp);
    },
  };
}
