import type { SnapshotStorageConfig } from '#protocol/snapshot.ts';
import { directoryStorage } from './directory-storage.ts';
import type { SnapshotStorage } from './storage.ts';

/** Opens the storage. The client of S3 is loaded only here, since most runs need none. */
export async function openStorage(
  config: SnapshotStorageConfig,
  clusterId: string,
): Promise<SnapshotStorage> {
  if (config.kind === 'directory') return directoryStorage(config.path);
  const { s3Storage } = await import('./s3-storage.ts');
  return s3Storage(config, clusterId);
}
