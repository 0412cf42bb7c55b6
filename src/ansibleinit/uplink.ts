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
/** Delay of further lines for each chunk sent before: an hour makes some 250 chunks. */
const LATER_MS = 100;
const NEWLINE = 10;
/** Longest field of an event in a chunk, in UTF-16 units: JSON may take six bytes for one. */
const MAX_TEXT = 16_384;

/** Sender of a run's events. */
export interface Uplink {
  send(event: RunEvent): void;
  step(name: string): void;
  /** Aborts when the server reports that the run is cancelled. */
  readonly cancelled: AbortSignal;
  /** Sends the remaining events, for at most `ms`. */
  close(ms: number): Promise<void>;
}

/**
 * Returns the end of a chunk that begins at `from`. A chunk has whole lines only, since the other end cannot read half a
 * character. A line longer than a chunk is one chunk.
 */
function endOfChunk(spool: Buffer, from: number): number {
  const end = spool.lastIndexOf(NEWLINE, from + CHUNK_BYTES - 1) + 1;
  return end > from ? end : spool.indexOf(NEWLINE, from) + 1;
}

/** Encodes an event as a line that the server always accepts: longer texts are cut. */
function ndjsonOf(event: RunEvent): Buffer {
  const line = Buffer.from(`${JSON.stringify(event)}\n`);
  if (line.length <= CHUNK_BYTES) return line;
  const cut = Object.entries(event).flatMap(([name, value]) => {
    if (typeof value !== 'string') return typeof value === 'number' ? [[name, value]] : [];
    return [[name, value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}… (cut)` : value]];
  });
  return Buffer.from(`${JSON.stringify(Object.fromEntries(cut))}\n`);
}

/** Formats an event as one line for users: when, what, where. */
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

/** Events that are not printed, because another event has more details. */
const QUIET = new Set<RunEvent['event']>(['task', 'skipped', 'stats']);

/** Prints events as lines, for runs by hand. */
export const printing = (write: (line: string) => void): Uplink => ({
  send: (event) => {
    if (!QUIET.has(event.event)) write(lineOf(event));
  },
  step: () => {},
  cancelled: new AbortController().signal,
  close: async () => {},
});

/**
 * Sends events to the server in chunks (job, offset). It repeats a chunk until it gets an answer. The answer names the next
 * offset, so a repetition or a new server replica neither duplicates nor loses a line.
 */
export function streaming(settings: Way, job: string, print: (line: string) => void): Uplink {
  const stop = new AbortController();
  let spool = Buffer.alloc(0);
  let sent = 0;
  let step = 'precheck';
  let reportedStep = '';
  let flushing: Promise<void> | undefined;
  let askedAtMs = performance.now();
  let chunks = 0;
  let unsentSinceMs: number | undefined;
  let isFollowed = false;
  const cancelled = new AbortController();

  /**
   * Sends one request; returns the answer's offset. An empty chunk without a step stores nothing and only asks for a
   * cancellation.
   */
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

  /** Returns the time for which lines are collected. */
  const patienceMs = (): number =>
    isFollowed ? FOLLOWED_FLUSH_MS : Math.min(Math.max(FLUSH_MS, chunks * LATER_MS), LONGEST_FLUSH_MS);

  /** Whether lines are due: after a new step, with many lines, or after the longest wait. */
  const isDue = (): boolean =>
    step !== reportedStep ||
    spool.length - sent >= FLUSH_BYTES ||
    (unsentSinceMs !== undefined && performance.now() - unsentSinceMs >= patienceMs());

  async function flush(isLast: boolean): Promise<void> {
    while ((isLast || isDue()) && (sent < spool.length || step !== reportedStep)) {
      const now = step;
      const next = await post(spool.subarray(sent, endOfChunk(spool, sent)), now);
      sent = Math.min(next, spool.length);
      reportedStep = now;
      chunks += 1;
    }
    if (sent >= spool.length) unsentSinceMs = undefined;
    // A task that prints nothing for minutes must also learn of a cancellation.
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
