import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '#base/errors.ts';
import type { SnapshotStorage } from './storage.ts';

/** A file that is not complete; the next write removes it. */
const PART = '.part';

/** Share of the volume that stays free: a kubelet evicts pods of its host below 10% (Kubernetes, Node-pressure Eviction). */
const FREE_SHARE = 0.1;

/** Rejects if a file of that size does not fit beside what others of the volume need. */
async function checkRoom(path: string, size: number): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(path);
  const [left, needed] = [bavail * bsize, Math.ceil(size + FREE_SHARE * blocks * bsize)];
  if (left < needed)
    throw new Error(
      `it has ${left} bytes left, and ${needed} are needed for ${size} bytes, as ${FREE_SHARE * 100}% stay free; remove snapshots, or use S3-compatible storage`,
    );
}

/** Stores files in a directory, such as a mounted volume. */
export function directoryStorage(path: string): SnapshotStorage {
  const place = `the volume of the installation (${path})`;
  const failed = (what: string) => (error: unknown) => {
    throw new Error(`${place} ${what}: ${messageOf(error)}`, { cause: error });
  };
  return {
    place,
    async write(name, content, signal, size = 0) {
      const [to, part] = [join(path, name), join(path, `${name}${PART}`)];
      try {
        await mkdir(path, { recursive: true });
        for (const left of await readdir(path))
          if (left.endsWith(PART)) await rm(join(path, left), { force: true });
        await checkRoom(path, size);
        await pipeline(content, createWriteStream(part, { mode: 0o600, flush: true }), { signal });
        await rename(part, to);
        // The name must survive a power cut as well (fsync(2)).
        const directory = await open(path);
        await directory.sync().finally(() => directory.close());
      } catch (error) {
        await rm(part, { force: true }).catch(() => {});
        signal.throwIfAborted();
        failed('cannot be written')(error);
      }
    },
    async read(name) {
      const file = await open(join(path, name)).catch(failed(`has no file ${name} that can be read`));
      return createReadStream('', { fd: file });
    },
    async list() {
      const names = await readdir(path).catch((error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? [] : failed('cannot be listed')(error),
      );
      const complete = (names ?? []).filter((name) => !name.endsWith(PART));
      return Promise.all(
        complete.map(async (name) => {
          const { mtime, size } = await stat(join(path, name));
          return { name, modified: mtime, size };
        }),
      );
    },
    async remove(name) {
      await rm(join(path, name), { force: true }).catch(failed(`cannot remove ${name}`));
    },
  };
}
