import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';
import { z } from 'zod';

/**
 * The content of a stored snapshot: a tar archive of etcd's data, of the authorities and keys of the cluster, without which
 * the data is of no use, and of facts about both.
 */

export const bundleInfoSchema = z.object({
  format: z.literal(1),
  cluster: z.object({ id: z.string(), namespace: z.string(), name: z.string() }),
  kubeVersion: z.string(),
  /** Image of etcd, whose version reads the data. */
  etcdImage: z.string(),
  createdAt: z.iso.datetime(),
});
export type BundleInfo = z.infer<typeof bundleInfoSchema>;

/** The files of a bundle, in the order in which they are written; also their names in a directory. */
export const BUNDLE_FILES = {
  info: 'info.json',
  authorities: 'authorities.tar.gz',
  etcd: 'etcd.db',
} as const;
const MAX_INFO = 64 * 1024;
const MAX_AUTHORITIES = 4 * 1024 * 1024;

/** etcd's data, with its size in bytes, which a tar archive needs first. */
export interface EtcdData {
  size: number;
  content: AsyncIterable<Buffer>;
}

/** Returns a bundle as a stream, which fails if the data does, or has another size. */
export function packed(info: BundleInfo, authorities: Buffer, etcd: EtcdData): Readable {
  const archive = pack();
  archive.entry({ name: BUNDLE_FILES.info }, JSON.stringify(info));
  archive.entry({ name: BUNDLE_FILES.authorities }, authorities);
  const entry = archive.entry({ name: BUNDLE_FILES.etcd, size: etcd.size }, (error) => {
    if (error) archive.destroy(error);
    else archive.finalize();
  });
  pipeline(etcd.content, entry).catch((error: Error) => archive.destroy(error));
  return Readable.from(archive);
}

/** Writes the files of a bundle into a directory, and returns its facts. Rejects if it is no complete bundle. */
export async function unpacked(content: Readable, directory: string): Promise<BundleInfo> {
  const files = extract();
  const limits = new Map<string, number>([
    [BUNDLE_FILES.info, MAX_INFO],
    [BUNDLE_FILES.authorities, MAX_AUTHORITIES],
    [BUNDLE_FILES.etcd, Number.POSITIVE_INFINITY],
  ]);
  const found = new Set<string>();
  await Promise.all([
    pipeline(content, files),
    (async () => {
      for await (const entry of files) {
        const { name, size = 0, type } = entry.header;
        // A path from an archive is never used unless it is one of these names.
        if (type !== 'file' || found.has(name) || size > (limits.get(name) ?? -1))
          throw new Error(`it has an unexpected part, "${name.slice(0, 100)}"`);
        found.add(name);
        await pipeline(entry, createWriteStream(join(directory, name), { mode: 0o600 }));
      }
    })(),
  ]);
  for (const name of limits.keys()) if (!found.has(name)) throw new Error(`it ends before ${name}`);
  const info = bundleInfoSchema.safeParse(
    JSON.parse(await readFile(join(directory, BUNDLE_FILES.info), 'utf8')),
  );
  if (!info.success)
    throw new Error(`its ${BUNDLE_FILES.info} is not of this version: ${z.prettifyError(info.error)}`);
  return info.data;
}
