import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { z } from 'zod';
import { type TarEntry, tarEntries } from './tar-entries.ts';

/** Image in the form that a registry serves. */
export interface ArchivedImage {
  manifest: Buffer;
  mediaType: string;
  /** Digest of the manifest. */
  digest: string;
  /** Configuration and layers by digest. */
  blobs: Map<string, TarEntry>;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
/** Limit of configurations and manifests, which are small. */
const MAX_JSON = 4 * 1024 * 1024;

const archiveSchema = z.array(z.object({ Config: z.string(), Layers: z.array(z.string()) })).min(1);
const configSchema = z.looseObject({ rootfs: z.looseObject({ diff_ids: z.array(z.string()) }) });

const digestOf = (content: Buffer): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

/**
 * Reads the image in an archive of `docker save`, which containerd and BuildKit write too, and creates its manifest. Throws
 * if the file is no such archive.
 */
export async function readImageArchive(path: string): Promise<ArchivedImage> {
  const file = await open(path);
  try {
    const entries = await tarEntries(file);
    const find = (name: string): TarEntry => {
      const entry = entries.get(name);
      if (!entry) throw new Error(`${path} has no ${name}`);
      return entry;
    };
    const [image] = archiveSchema.parse(
      JSON.parse((await read(file, find('manifest.json'))).toString('utf8')),
    );
    if (!image) throw new Error(`${path} has no image`);
    const config = await read(file, find(image.Config));
    const { diff_ids } = configSchema.parse(JSON.parse(config.toString('utf8'))).rootfs;
    const layers = await Promise.all(
      image.Layers.map((name, index) => layerOf(path, file, find(name), diff_ids[index] ?? '')),
    );
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MANIFEST,
        config: { mediaType: CONFIG, digest: digestOf(config), size: config.length },
        layers: layers.map(({ mediaType, digest, entry }) => ({ mediaType, digest, size: entry.size })),
      }),
    );
    const blobs = new Map(layers.map(({ digest, entry }) => [digest, entry]));
    blobs.set(digestOf(config), find(image.Config));
    return { manifest, mediaType: MANIFEST, digest: digestOf(manifest), blobs };
  } finally {
    await file.close();
  }
}

async function read(file: FileHandle, { offset, size }: TarEntry): Promise<Buffer> {
  if (size > MAX_JSON) throw new Error(`${size} bytes are too many for a manifest or configuration`);
  const content = Buffer.alloc(size);
  await file.read(content, 0, size, offset);
  return content;
}

/**
 * Returns a layer with its digest. The configuration has the digest of an uncompressed layer; that of a compressed one must
 * be computed.
 */
async function layerOf(path: string, file: FileHandle, entry: TarEntry, diffId: string) {
  const magic = Buffer.alloc(2);
  await file.read(magic, 0, 2, entry.offset);
  if (magic[0] !== 0x1f || magic[1] !== 0x8b) return { mediaType: LAYER, digest: diffId, entry };
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, rangeOf(entry))) hash.update(chunk);
  return { mediaType: `${LAYER}+gzip`, digest: `sha256:${hash.digest('hex')}`, entry };
}

/** Returns the range of an entry, for `createReadStream`. */
export const rangeOf = ({ offset, size }: TarEntry): { start: number; end: number } => ({
  start: offset,
  end: offset + Math.max(size, 1) - 1,
});
