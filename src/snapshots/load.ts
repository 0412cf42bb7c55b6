import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '#base/errors.ts';
import { BUNDLE_FILES } from './bundle.ts';
import { decrypt, type ReadBack, tryRestore } from './read-back.ts';

export interface Loading extends ReadBack {
  name: string;
  /** The cluster that is restored. */
  cluster: { id: string; kubeVersion: string };
  say(message: string): void;
}

/** A snapshot in the scratch directory, ready to be sent to a host. */
export interface LoadedSnapshot {
  /** Path of etcd's data, as `etcdctl snapshot save` writes it. */
  file: string;
  size: number;
  sha256: string;
  /** Authorities and keys of the cluster, a .tar.gz. */
  authorities: Buffer;
}

/**
 * Reads a snapshot from the storage and restores it as a test, before any host changes. Rejects if it is damaged, or of
 * another cluster or version.
 */
export async function load(loading: Loading): Promise<LoadedSnapshot> {
  const { name, cluster, storage, scratch, say } = loading;
  let info: Awaited<ReturnType<typeof decrypt>>;
  let revision: number | undefined;
  try {
    info = await decrypt(loading, name);
    revision = await tryRestore(loading, async ({ whole }) => whole.revision);
  } catch (error) {
    loading.signal.throwIfAborted();
    throw new Error(`snapshot ${name} is not usable: ${messageOf(error)}; no host was changed`, {
      cause: error,
    });
  }
  if (info.cluster.id !== cluster.id)
    throw new Error(
      `snapshot ${name} is of another cluster, ${info.cluster.namespace}/${info.cluster.name}; no host was changed`,
    );
  if (info.kubeVersion !== cluster.kubeVersion)
    throw new Error(
      `snapshot ${name} is of Kubernetes ${info.kubeVersion}, and the cluster is of ${cluster.kubeVersion}; restore a snapshot of its version; no host was changed`,
    );
  const file = join(scratch, BUNDLE_FILES.etcd);
  const { size } = await stat(file);
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const found =
    revision === undefined ? 'not restored as a test' : `restored as a test, at revision ${revision}`;
  say(`${name}: ${size} bytes of etcd's data from ${storage.place}, ${found}`);
  return {
    ...{ file, size, sha256: hash.digest('hex') },
    authorities: await readFile(join(scratch, BUNDLE_FILES.authorities)),
  };
}
