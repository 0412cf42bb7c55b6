import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { access, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fetch } from 'undici';
import { messageOf } from '#base/errors.ts';
import { type Artifact, catalogue, formatSums, parseSums, SUMS_FILE } from './catalogue.ts';
import { download } from './download.ts';
import { type Entry, layout } from './layout.ts';
import type { Release } from './releases.ts';

/** Source of artifacts. `upstream` is every project's own site; a mirror or directory has the same paths. */
export type Source =
  | { readonly kind: 'upstream' }
  | { readonly kind: 'mirror'; readonly url: string }
  | { readonly kind: 'directory'; readonly path: string };

/** Reads a setting: `upstream`, an http(s) URL, or an absolute path. */
export function parseSource(text: string): Source {
  if (text === 'upstream') return { kind: 'upstream' };
  if (/^https?:\/\//.test(text) && URL.canParse(text))
    return { kind: 'mirror', url: text.replace(/\/+$/, '') };
  if (text.startsWith('/')) return { kind: 'directory', path: text };
  throw new Error(`an artifact source is "upstream", an http(s) URL, or an absolute path, not ${text}`);
}

/** Parallel downloads; more do not use a connection better. */
export const PARALLEL = 4;
const SUM_TIMEOUT_MS = 30_000;

/** Lists the files of a release that a source has, with their sums. */
export async function artifactsOf(source: Source, release: Release): Promise<Artifact[]> {
  return catalogue(release, await sumsOf(source, release));
}

/**
 * Downloads every file of a release into `dir` and checks each against its sum; correct files stay. A directory as source is
 * checked in place, without a copy.
 */
export async function materialise(
  source: Source,
  release: Release,
  dir: string,
  say: (line: string) => void = () => {},
): Promise<Artifact[]> {
  const artifacts = await artifactsOf(source, release);
  const root = source.kind === 'directory' ? source.path : dir;
  const queue = [...artifacts];
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const path = join(root, next.path);
      if ((await sumOfFile(path)) === next.sha256) continue;
      if (source.kind === 'directory') throw new Error(`${path} is missing or does not have its sum`);
      say(`fetching ${next.path}`);
      await download(urlOf(source, next.path), path, next.sha256);
    }
  };
  // After a failure no further file begins, and none is still written once this has rejected.
  const ends = await Promise.allSettled(
    Array.from({ length: PARALLEL }, () =>
      worker().catch((error: unknown) => {
        queue.length = 0;
        throw error;
      }),
    ),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  if (source.kind !== 'directory') {
    // Images without an upstream file, which a user added by hand, stay in the list.
    const list = join(dir, SUMS_FILE);
    const listed = parseSums(existsSync(list) ? await readFile(list, 'utf8') : '');
    const fetched = artifacts.map(({ path, sha256 }) => [path, sha256] as const);
    // No other file has the sums of those images, so the old list stays until the new one is complete.
    await writeFile(`${list}.part`, formatSums(new Map([...listed, ...fetched])), { flush: true });
    await rename(`${list}.part`, list);
  }
  return artifacts;
}

/** Returns the text of SHA256SUMS: from the source, or composed of the upstreams' sums. */
export async function sumsOf(source: Source, release: Release): Promise<string> {
  if (source.kind === 'directory') {
    const path = join(source.path, SUMS_FILE);
    return readFile(path, 'utf8').catch((error: unknown) => {
      throw new Error(`${path} cannot be read; "matryoshka artifacts pull" makes one`, { cause: error });
    });
  }
  if (source.kind === 'mirror') return text(`${source.url}/${SUMS_FILE}`);
  const sums = await Promise.all(layout(release).map(upstreamSum));
  return formatSums(new Map(sums.filter((sum) => sum !== undefined)));
}

/** Reads the sum that upstream publishes beside each of its files, with or without the file's name. */
async function upstreamSum(entry: Entry): Promise<readonly [string, string] | undefined> {
  if (entry.sums === undefined) return undefined;
  const url = new URL(entry.sums, `https://${entry.path}`).href;
  const file = entry.path.slice(entry.path.lastIndexOf('/') + 1);
  const lines = (await text(url)).split('\n').map((line) => line.trim().split(/\s+\*?/));
  const [sum] = lines.find(([, name]) => name === undefined || name === '' || name.endsWith(file)) ?? [];
  if (sum === undefined || !/^[0-9a-f]{64}$/.test(sum)) throw new Error(`${url} has no sum of ${file}`);
  return [entry.path, sum];
}

const urlOf = (source: Exclude<Source, { kind: 'directory' }>, path: string): string =>
  source.kind === 'mirror' ? `${source.url}/${path}` : `https://${path}`;

async function text(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(SUM_TIMEOUT_MS) }).catch(
    (error: unknown) => {
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw new Error(`${url} does not answer: ${messageOf(cause)}`, { cause: error });
    },
  );
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.text();
}

async function sumOfFile(path: string): Promise<string | undefined> {
  const there = await access(path).then(
    () => true,
    () => false,
  );
  if (!there) return undefined;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
