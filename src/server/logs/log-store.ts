import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { internalAnnotations, logHeadName } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { ttlCache } from '#base/ttl-cache.ts';
import { LOG_BYTES, MAX_PARTS } from '#protocol/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isNotFound } from '#runtime/wire/api-error.ts';
import type { JobCaller } from '../auth/job-caller.ts';
import { HttpError } from '../http/errors.ts';
import { type LogBudget, logBudgetIn } from './log-budget.ts';
import { fitting, fullNotice, RESERVED_BYTES } from './log-chunk.ts';
import { packLog } from './log-pack.ts';
import { endOf, headOf, type LogPart, mapOf, ownedBy } from './log-part.ts';
import { type LogSource, logSourceIn } from './log-source.ts';

const TRIES = 5;
/** Most attempts that are remembered, so that an append need not read what it wrote before. */
const REMEMBERED = 256;
/** Interval in which a follower renews its mark; it counts as following for twice as long. */
const FOLLOW_MS = 30_000;
const FOLLOWED_READ_MS = 2_000;

/** The offset of the next byte of an attempt's log, and whether the chunk was stored. */
export interface Appended {
  next: number;
  ok: boolean;
}

/**
 * Stores logs of attempts as NDJSON in ConfigMaps of the reports' namespace. Every replica reads them, and none rewrites
 * them.
 */
export interface LogStore extends LogSource {
  /** Stores whole lines of a chunk that begins at `offset`, and the step that the attempt is at. */
  append(caller: JobCaller, offset: number, chunk: Buffer, step: string | undefined): Promise<Appended>;
  /** Replaces the parts by packs: an attempt that has reported writes no more. */
  pack(caller: JobCaller): Promise<void>;
  /** Records that a client follows the log. */
  follow(job: string): Promise<void>;
  /** Whether a client follows the log, on any replica; at most some seconds old. */
  isFollowed(job: string): Promise<boolean>;
}

/** The state of an attempt's log, as this replica remembers it. */
interface Known {
  head: ConfigMap;
  step: string | undefined;
  /** Number and offset of the next part. */
  number: number;
  offset: number;
  isFull: boolean;
}

export function logStoreIn(
  client: Client,
  namespace: string,
  clock: Clock,
  budget: LogBudget = logBudgetIn(client, namespace, clock),
): LogStore {
  const known = new Map<string, Known>();
  const source = logSourceIn(client, namespace);
  const followed = ttlCache<boolean>({ clock, forMs: FOLLOWED_READ_MS, size: REMEMBERED });
  const follows = ttlCache<void>({ clock, forMs: FOLLOW_MS, size: REMEMBERED });
  const headKey = (job: string) => ({ namespace, name: logHeadName(job) });

  async function headFor(caller: JobCaller, step: string | undefined): Promise<ConfigMap> {
    try {
      return await client.create<ConfigMap>(CONFIG_MAPS, headOf(caller, namespace, step));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return client.get<ConfigMap>(CONFIG_MAPS, headKey(caller.job));
    }
  }

  async function knownOf(caller: JobCaller, step: string | undefined): Promise<Known> {
    const remembered = known.get(caller.job);
    if (remembered) return remembered;
    const head = await headFor(caller, step);
    const last = await source.last(caller.job);
    const now: Known = {
      head,
      step: head.metadata.annotations?.[internalAnnotations.step],
      number: last ? last.number + 1 : 0,
      offset: last ? endOf(last) : 0,
      isFull: last?.isFull ?? false,
    };
    remember(known, caller.job, now);
    return now;
  }

  /** Writes the step to the head, which the controller watches. */
  async function reportStep({ job }: JobCaller, log: Known, step: string): Promise<void> {
    const annotations = { [internalAnnotations.step]: step, [internalAnnotations.bytes]: String(log.offset) };
    try {
      await client.patch(CONFIG_MAPS, headKey(job), { metadata: { annotations } }, { type: 'merge' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    log.step = step;
  }

  async function write({ job }: JobCaller, log: Known, text: string, isFull: boolean): Promise<void> {
    const part: LogPart = { number: log.number, offset: log.offset, text, isFull };
    await client.create<ConfigMap>(CONFIG_MAPS, mapOf(job, namespace, part, ownedBy(log.head)));
    log.number += 1;
    log.offset = endOf(part);
    log.isFull = isFull;
  }

  async function tryAppend(
    caller: JobCaller,
    offset: number,
    chunk: Buffer,
    step: string | undefined,
  ): Promise<Appended> {
    let log = await knownOf(caller, step);
    if (offset !== log.offset) {
      // Another replica may have written since.
      known.delete(caller.job);
      log = await knownOf(caller, step);
    }
    if (step !== undefined && log.step !== step) await reportStep(caller, log, step);
    if (log.isFull) return { next: offset + chunk.length, ok: true };
    if (offset !== log.offset) return { next: log.offset, ok: false };
    const spent = chunk.length === 0 ? undefined : await budget.refusal(caller.cluster.namespace, offset);
    const isLast = log.number === MAX_PARTS - 1;
    const room = spent === undefined ? LOG_BYTES - RESERVED_BYTES - offset : 0;
    const taken = fitting(chunk, room);
    const isFull = chunk.length > room || isLast;
    if (taken === 0 && !isFull) return { next: offset, ok: true };
    const why = spent ?? `an attempt keeps ${LOG_BYTES / 1024 ** 2} MiB`;
    const text = chunk.subarray(0, taken).toString('utf8') + (isFull ? fullNotice(clock.now(), why) : '');
    await write(caller, log, text, isFull);
    return { next: isFull ? offset + chunk.length : log.offset, ok: true };
  }

  return {
    ...source,
    async append(caller, offset, chunk, step) {
      for (let tried = 0; tried < TRIES; tried += 1) {
        try {
          return await tryAppend(caller, offset, chunk, step);
        } catch (error) {
          known.delete(caller.job);
          // Another replica wrote: the next try reads what it stored.
          if (!isAlreadyExists(error)) throw error;
        }
      }
      throw new HttpError(503, 'the log is being written by others; try again');
    },
    async pack({ job }) {
      known.delete(job);
      await packLog(client, namespace, job);
    },
    follow: (job) =>
      follows.get(job, async () => {
        const annotations = { [internalAnnotations.followed]: clock.now().toISOString() };
        try {
          await client.patch(CONFIG_MAPS, headKey(job), { metadata: { annotations } }, { type: 'merge' });
        } catch (error) {
          // The Job has logged nothing yet: the follower's next read repeats this.
          if (!isNotFound(error)) throw error;
          throw new Error('nothing is logged yet', { cause: error });
        }
      }),
    isFollowed: (job) =>
      followed.get(job, async () => {
        const head = await client.find<ConfigMap>(CONFIG_MAPS, headKey(job));
        const at = Date.parse(head?.metadata.annotations?.[internalAnnotations.followed] ?? '');
        return clock.now().getTime() - at < 2 * FOLLOW_MS;
      }),
  };
}

/** Adds the newest entry last, and drops the oldest if there are too many. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > REMEMBERED ? map.keys().next() : undefined;
  if (oldest && !oldest.done) map.delete(oldest.value);
}
