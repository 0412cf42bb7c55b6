import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { logConfigMapName, marks } from '#api/names.ts';
import type { Clock } from '#base/clock.ts';
import { PART_BYTES, PARTS } from '#protocol/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isConflict, isNotFound } from '#runtime/wire/api-error.ts';
import type { JobCaller } from '../auth/job-caller.ts';
import { HttpError } from '../http/errors.ts';
import { fitting, fullNotice, RESERVED_BYTES } from './log-chunk.ts';
import { endOf, type LogPart, mapOf, partOf } from './log-part.ts';

const TRIES = 5;
/** Last parts that are remembered, so that an append need not read what it wrote before. */
const REMEMBERED = 32;

/** Where the next byte of an attempt's log belongs, and whether the chunk was stored. */
export interface Appended {
  next: number;
  ok: boolean;
}

/** Logs of attempts, as NDJSON in ConfigMaps of the reports' namespace that every replica reads. */
export interface LogStore {
  /** Stores whole lines of a chunk that begins at `offset`, and the step that the attempt is at. */
  append(caller: JobCaller, offset: number, chunk: Buffer, step: string | undefined): Promise<Appended>;
  /** A part; undefined when it is not there (yet). */
  part(job: string, number: number): Promise<LogPart | undefined>;
}

interface Stored {
  map: ConfigMap;
  part: LogPart;
}

export function logStoreIn(client: Client, namespace: string, clock: Clock): LogStore {
  const last = new Map<string, Stored>();
  /** The step that each attempt's first part tells, as far as this replica wrote it. */
  const steps = new Map<string, string>();
  const forget = (job: string): void => {
    last.delete(job);
    steps.delete(job);
  };

  async function read(job: string, number: number): Promise<Stored | undefined> {
    const map = await client.find<ConfigMap>(CONFIG_MAPS, {
      namespace,
      name: logConfigMapName(job, number),
    });
    return map && { map, part: partOf(map, number) };
  }

  /** The part that takes the next byte. */
  async function lastOf(job: string): Promise<Stored | undefined> {
    const known = last.get(job);
    if (known) return known;
    let found = await read(job, 0);
    while (found?.part.closed === 'continued') {
      const next = await read(job, found.part.number + 1);
      if (!next) break;
      found = next;
    }
    return found;
  }

  /** One write: a new part, or the last with more in it. Throws Conflict or AlreadyExists when another was faster. */
  async function write(
    caller: JobCaller,
    before: Stored | undefined,
    part: LogPart,
    step: string | undefined,
  ): Promise<Stored> {
    const map = mapOf(caller, namespace, part, step, before?.map);
    const written = before
      ? await client.update<ConfigMap>(CONFIG_MAPS, map)
      : await client.create<ConfigMap>(CONFIG_MAPS, map);
    const stored = { map: written, part };
    keep(last, caller.job, stored);
    if (step !== undefined && part.number === 0) keep(steps, caller.job, step);
    return stored;
  }

  /** The step stands on the first part, which the controller watches. */
  async function tellStep({ job }: JobCaller, step: string): Promise<void> {
    const patch = { metadata: { annotations: { [marks.step]: step } } };
    const key = { namespace, name: logConfigMapName(job, 0) };
    try {
      await client.patch(CONFIG_MAPS, key, patch, { type: 'merge' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (last.get(job)?.part.number === 0) forget(job);
    keep(steps, job, step);
  }

  async function tryAppend(
    caller: JobCaller,
    offset: number,
    chunk: Buffer,
    step: string | undefined,
  ): Promise<Appended> {
    let stored = await lastOf(caller.job);
    const end = stored ? endOf(stored.part) : 0;
    if (stored?.part.closed === 'full') return { next: offset + chunk.length, ok: true };
    if (offset !== end) return { next: end, ok: false };
    let rest = chunk;
    let next = end;
    for (;;) {
      if (!stored || stored.part.closed === 'continued') {
        const number = stored ? stored.part.number + 1 : 0;
        stored = await write(caller, undefined, { number, offset: next, text: '', closed: undefined }, step);
      }
      const { part }: Stored = stored;
      const isLast = part.number === PARTS - 1;
      const room = PART_BYTES - (isLast ? RESERVED_BYTES : 0) - (next - part.offset);
      const taken = fitting(rest, room, part.text === '');
      const isFilled = rest.length > room;
      if (taken === 0 && !isFilled) return { next, ok: true };
      const closed = isFilled ? (isLast ? 'full' : 'continued') : undefined;
      const notice = closed === 'full' ? fullNotice(clock.now()) : '';
      const text = part.text + rest.subarray(0, taken).toString('utf8') + notice;
      stored = await write(caller, stored, { ...part, text, closed }, step);
      if (closed === 'full') return { next: offset + chunk.length, ok: true };
      next += taken;
      rest = rest.subarray(taken);
      if (closed === undefined) return { next, ok: true };
    }
  }

  return {
    async append(caller, offset, chunk, step) {
      for (let tried = 0; tried < TRIES; tried += 1) {
        try {
          const answer = await tryAppend(caller, offset, chunk, step);
          if (step !== undefined && steps.get(caller.job) !== step) await tellStep(caller, step);
          return answer;
        } catch (error) {
          forget(caller.job);
          // Another replica wrote: what it stored decides whether this chunk still fits.
          if (!isConflict(error) && !isAlreadyExists(error)) throw error;
        }
      }
      throw new HttpError(503, 'the log is being written by others; try again');
    },
    part: async (job, number) => (await read(job, number))?.part,
  };
}

/** Puts the newest last, and drops the oldest when there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > REMEMBERED ? map.keys().next() : undefined;
  if (oldest && !oldest.done) map.delete(oldest.value);
}
