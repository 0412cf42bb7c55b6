import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, open, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { fetch } from 'undici';
import { rangeOf, readImageArchive } from '#artifacts/registry/image-archive.ts';

/** The archive of etcd's image: its address, and its SHA-256. */
export interface EtcdArchive {
  url: string;
  sha256: string;
}

const PROGRAMS = ['etcd', 'etcdutl'] as const;
export type EtcdPrograms = Record<(typeof PROGRAMS)[number], string>;
const FETCH_MS = 300_000;

/** Downloads etcd and etcdutl into a directory, from the image archive that hosts use too. */
export async function bringEtcd(
  { url, sha256 }: EtcdArchive,
  directory: string,
  signal: AbortSignal,
): Promise<EtcdPrograms> {
  const archive = join(directory, 'etcd-image.tar');
  try {
    await download(url, archive, sha256, signal);
    const { blobs } = await readImageArchive(archive);
    const found = new Set<string>();
    for (const entry of blobs.values()) await extractPrograms(archive, entry, directory, found);
    const missing = PROGRAMS.find((name) => !found.has(name));
    if (missing !== undefined) throw new Error(`${url} has no ${missing}`);
  } finally {
    await rm(archive, { force: true });
  }
  return { etcd: join(directory, 'etcd'), etcdutl: join(directory, 'etcdutl') };
}

async function download(url: string, to: string, sha256: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]) });
  if (!response.ok || response.body === null) throw new Error(`${url}: status ${response.status}`);
  const hash = createHash('sha256');
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(to));
  if (hash.digest('hex') !== sha256) throw new Error(`${url} does not have the sum ${sha256}`);
}

async function extractPrograms(
  archive: string,
  entry: Parameters<typeof rangeOf>[0],
  directory: string,
  found: Set<string>,
): Promise<void> {
  const file = await open(archive);
  const magic = Buffer.alloc(2);
  await file.read(magic, 0, 2, entry.offset).finally(() => file.close());
  // The image's configuration is JSON.
  if (magic[0] === 0x7b) return;
  const isPacked = magic[0] === 0x1f && magic[1] === 0x8b;
  const layer = extract();
  const content = createReadStream(archive, rangeOf(entry));
  await Promise.all([
    isPacked ? pipeline(content, createGunzip(), layer) : pipeline(content, layer),
    (async () => {
      for await (const part of layer) {
        const name = basename(part.header.name);
        if (part.header.type !== 'file' || !PROGRAMS.some((one) => one === name)) {
          part.resume();
          continue;
        }
        await pipeline(part, createWriteStream(join(directory, name)));
        await chmod(join(directory, name), 0o755);
        found.add(name);
      }
    })(),
  ]);
}
