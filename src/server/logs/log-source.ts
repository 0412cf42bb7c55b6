import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { logHeadName, logPackName, logPartName } from '#api/names.ts';
import { MAX_PARTS } from '#protocol/log.ts';
import type { Client } from '#runtime/client/client.ts';
import { endOf, type LogPart, packsIn, partOf, textOfPack } from './log-part.ts';

/** A position in a log: the number of the next part, and its first byte in the whole. */
export interface LogPosition {
  number: number;
  offset: number;
}

export interface LogPiece {
  text: string;
  next: LogPosition;
}

/** The beginning of every log. */
export const START: LogPosition = { number: 0, offset: 0 };

/** Reads logs of attempts, packed or not. */
export interface LogSource {
  /** Returns the piece at a position; undefined if nothing is there (yet). */
  read(job: string, at: LogPosition): Promise<LogPiece | undefined>;
  /** Returns the last part; undefined if there is none. */
  last(job: string): Promise<LogPart | undefined>;
  /** Returns the last parts, or packs, which have at least `bytes` together, and whether they are the whole log. */
  tail(job: string, bytes: number): Promise<{ text: string; isWhole: boolean }>;
}

export function logSourceIn(client: Client, namespace: string): LogSource {
  const find = (name: string) => client.find<ConfigMap>(CONFIG_MAPS, { namespace, name });

  async function part(job: string, number: number): Promise<LogPart | undefined> {
    const map = await find(logPartName(job, number));
    return map && partOf(map, number);
  }

  async function packs(job: string): Promise<number[]> {
    return packsIn(await find(logHeadName(job)));
  }

  async function pack(job: string, number: number): Promise<string> {
    const map = await find(logPackName(job, number));
    return map ? textOfPack(map) : '';
  }

  /** Returns the last part by binary search; parts have no gaps. */
  async function last(job: string): Promise<LogPart | undefined> {
    let found = await part(job, 0);
    if (!found) return undefined;
    let [low, high] = [0, 1];
    for (let next = await part(job, high); next && high < MAX_PARTS; next = await part(job, high)) {
      found = next;
      [low, high] = [high, high * 2];
    }
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      const there = await part(job, middle);
      if (there) [found, low] = [there, middle];
      else high = middle;
    }
    return found;
  }

  /** Reads texts from the last to the first, until they have enough bytes. */
  async function backwards(
    count: number,
    bytes: number,
    textAt: (number: number) => Promise<string>,
  ): Promise<{ text: string; isWhole: boolean }> {
    const texts: string[] = [];
    let number = count;
    for (let had = 0; number > 0 && had < bytes; number -= 1) {
      const text = await textAt(number - 1);
      had += Buffer.byteLength(text);
      texts.unshift(text);
    }
    return { text: texts.join(''), isWhole: number === 0 };
  }

  return {
    async read(job, { number, offset }) {
      const found = await part(job, number);
      if (found) return { text: found.text, next: { number: number + 1, offset: endOf(found) } };
      const starts = await packs(job);
      const index = starts.findLastIndex((start) => start <= offset);
      const start = starts[index];
      if (start === undefined) return undefined;
      const whole = Buffer.from(await pack(job, index));
      const text = whole.subarray(offset - start).toString('utf8');
      return text === '' ? undefined : { text, next: { number, offset: start + whole.length } };
    },
    last,
    async tail(job, bytes) {
      const { length } = await packs(job);
      if (length > 0) return backwards(length, bytes, (number) => pack(job, number));
      const end = await last(job);
      if (!end) return { text: '', isWhole: true };
      return backwards(end.number + 1, bytes, async (number) =>
        number === end.number ? end.text : ((await part(job, number))?.text ?? ''),
      );
    },
  };
}
