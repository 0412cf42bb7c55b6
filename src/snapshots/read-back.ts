import { mkdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { checkAuthorities } from './authorities.ts';
import { BUNDLE_FILES, type BundleInfo, unpacked } from './bundle.ts';
import type { EtcdPrograms } from './etcd-programs.ts';
import { type HashKV, type ScratchEtcd, withScratchEtcd } from './scratch-etcd.ts';
import { opened } from './seal.ts';
import type { SnapshotStorage } from './storage.ts';

/** The end of a stored file's name, as `age` names its files. */
export const SUFFIX = '.age';

/** Reading a snapshot back: from where, and by which etcd. */
export interface ReadBack {
  storage: SnapshotStorage;
  identity: string;
  /** Brings the programs that restore it into a directory; undefined if the installation has none. */
  programs: ((directory: string, signal: AbortSignal) => Promise<EtcdPrograms>) | undefined;
  /** Files of keys that this cluster needs, besides those that every cluster needs. */
  keys: readonly string[];
  /** A directory of its own, which must be on a disk. */
  scratch: string;
  signal: AbortSignal;
}

/**
 * Decrypts a stored snapshot into the scratch directory. Rejects if any byte of it is not what was written, or if it lacks a
 * key of the cluster.
 */
export async function decrypt(
  { storage, identity, keys, scratch, signal }: ReadBack,
  name: string,
): Promise<BundleInfo> {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const content = await storage.read(`${name}${SUFFIX}`, signal);
  try {
    const info = await unpacked(await opened(content, identity), scratch);
    await checkAuthorities(await readFile(join(scratch, BUNDLE_FILES.authorities)), keys);
    return info;
  } finally {
    content.destroy();
  }
}

/** Restores the decrypted data as an etcd of its own. Returns what `ask` finds there; undefined without programs. */
export async function tryRestore<T>(
  { programs: bring, scratch, signal }: ReadBack,
  ask: (restored: ScratchEtcd & { whole: HashKV }) => Promise<T>,
): Promise<T | undefined> {
  if (!bring) return undefined;
  const data = join(scratch, BUNDLE_FILES.etcd);
  const [{ size }, { bavail, bsize }] = await Promise.all([stat(data), statfs(scratch)]);
  if (bavail * bsize < size)
    throw new Error(
      `the pod of the run has ${bavail * bsize} bytes left on its disk, and ${size} are needed to restore the snapshot as a test`,
    );
  const programs = await bring(scratch, signal);
  return withScratchEtcd(programs, data, scratch, signal, async (restored) =>
    ask({ ...restored, whole: await restored.hashAt(0) }),
  );
}
