import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fetch } from 'undici';
import { catalogue, parseSums } from './catalogue.ts';
import { FILE_TIMEOUT_MS } from './download.ts';
import { type Entry, layout } from './layout.ts';
import type { Release } from './releases.ts';
import { PARALLEL, type Source, sumsOf } from './source.ts';

/** Result for one file of a release; with `wrong` and `missing`, no cluster can be created from the source. */
export interface Finding extends Entry {
  /** `absent`: the source lacks an image, and hosts pull it from its registry. */
  state: 'fine' | 'absent' | 'missing' | 'wrong';
  sha256?: string;
  detail?: string;
}

/** Lists the files of a release that only a registry has, because upstream publishes no file. */
export const onlyInRegistries = (release: Release): Entry[] =>
  layout(release).filter(({ image, sums }) => image !== undefined && sums === undefined);

/**
 * Reads every file that a directory or a mirror should have, and compares its SHA-256 with SHA256SUMS. Throws if that list
 * is missing, or lacks a binary.
 */
export async function checkSource(
  source: Exclude<Source, { kind: 'upstream' }>,
  release: Release,
): Promise<Finding[]> {
  const text = await sumsOf(source, release);
  const sums = parseSums(text);
  catalogue(release, text);
  const found = new Map<string, Finding>();
  const queue = layout(release);
  const worker = async () => {
    for (let entry = queue.shift(); entry !== undefined; entry = queue.shift()) {
      const wanted = sums.get(entry.path);
      found.set(
        entry.path,
        wanted === undefined ? { ...entry, state: 'absent' } : await checkFile(source, entry, wanted),
      );
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return layout(release).flatMap(({ path }) => found.get(path) ?? []);
}

async function checkFile(
  source: Exclude<Source, { kind: 'upstream' }>,
  entry: Entry,
  sha256: string,
): Promise<Finding> {
  try {
    const hash = createHash('sha256');
    await pipeline(await contentOf(source, entry.path), hash);
    const is = hash.digest('hex');
    if (is === sha256) return { ...entry, state: 'fine', sha256 };
    return { ...entry, state: 'wrong', sha256, detail: `it has the sum ${is}` };
  } catch (error) {
    return {
      ...entry,
      state: 'missing',
      sha256,
      detail: error instanceof Error ? error.message : String(error),
    };
  }
}

async function contentOf(source: Exclude<Source, { kind: 'upstream' }>, path: string): Promise<Readable> {
  if (source.kind === 'directory') return createReadStream(join(source.path, path));
  const response = await fetch(`${source.url}/${path}`, { signal: AbortSignal.timeout(FILE_TIMEOUT_MS) });
  if (!response.ok || response.body === null) throw new Error(`${response.status} ${response.statusText}`);
  return Readable.fromWeb(response.body);
}
