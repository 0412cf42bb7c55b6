import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';

/** Position of a file in an archive, in bytes. */
export interface TarEntry {
  offset: number;
  size: number;
}

const BLOCK = 512;
/** Limit of extra headers, such as long names. */
const MAX_EXTRA = 64 * 1024;

const text = (header: Buffer, from: number, length: number): string =>
  header.toString('utf8', from, from + length).replace(/\0.*$/s, '');

/** Parses a number in octal, or in base 256 if its first bit is set (POSIX ustar, and GNU's extension). */
const number = (header: Buffer, from: number, length: number): number =>
  (header[from] ?? 0) & 0x80
    ? Number(header.readBigUInt64BE(from + length - 8))
    : Number.parseInt(text(header, from, length).trim() || '0', 8);

const plain = (name: string): string => posix.normalize(name).replace(/^\//, '');

/** Returns `path=` of a pax header, whose lines are `<length> <key>=<value>`. */
const paxPath = (content: string): string | undefined => /^\d+ path=(.*)$/m.exec(content)?.[1];

/** Lists the files of an uncompressed tar archive by name; a link has the entry of its target. Reads headers only. */
export async function tarEntries(file: FileHandle): Promise<Map<string, TarEntry>> {
  const entries = new Map<string, TarEntry>();
  const links: [string, string][] = [];
  const header = Buffer.alloc(BLOCK);
  let longName: string | undefined;
  for (let at = 0; ; ) {
    const { bytesRead } = await file.read(header, 0, BLOCK, at);
    if (bytesRead < BLOCK || header[0] === 0) break;
    const size = number(header, 124, 12);
    const type = text(header, 156, 1);
    if (!Number.isSafeInteger(size) || size < 0) throw new Error('not a tar archive');
    const offset = at + BLOCK;
    at = offset + Math.ceil(size / BLOCK) * BLOCK;
    if (type === 'L' || type === 'x') {
      const extra = Buffer.alloc(Math.min(size, MAX_EXTRA));
      await file.read(extra, 0, extra.length, offset);
      const content = extra.toString('utf8');
      longName = type === 'L' ? content.replace(/\0.*$/s, '') : (paxPath(content) ?? longName);
      continue;
    }
    const prefix = text(header, 257, 5) === 'ustar' ? text(header, 345, 155) : '';
    const name = plain(longName ?? (prefix === '' ? '' : `${prefix}/`) + text(header, 0, 100));
    longName = undefined;
    if (type === '' || type === '0') entries.set(name, { offset, size });
    else if (type === '1') links.push([name, plain(text(header, 157, 100))]);
    else if (type === '2') links.push([name, plain(posix.join(posix.dirname(name), text(header, 157, 100)))]);
  }
  for (const [name, target] of links) {
    const entry = entries.get(target);
    if (entry) entries.set(name, entry);
  }
  return entries;
}
