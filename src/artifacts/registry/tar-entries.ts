import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';

/** Where a file of an archive lies in it, in bytes. */
export interface TarEntry {
  offset: number;
  size: number;
}

const BLOCK = 512;
/** Long names and the like; more is no name. */
const MAX_EXTRA = 64 * 1024;

const text = (header: Buffer, from: number, length: number): string =>
  header.toString('utf8', from, from + length).replace(/\0.*$/s, '');

/** A number in octal, or in base 256 where its first bit says so (POSIX ustar, and GNU's addition). */
const number = (header: Buffer, from: number, length: number): number =>
  (header[from] ?? 0) & 0x80
    ? Number(header.readBigUInt64BE(from + length - 8))
    : Number.parseInt(text(header, from, length).trim() || '0', 8);

const plain = (name: string): string => posix.normalize(name).replace(/^\//, '');

/** `path=` of a pax header: lines `<length> <key>=<value>`. */
const paxPath = (content: string): string | undefined => /^\d+ path=(.*)$/m.exec(content)?.[1];

/** The files of an uncompressed tar archive by name; links stand for what they point to. Reads headers only. */
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
