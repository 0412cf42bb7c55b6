/** Stores snapshots of etcd encrypted, reads them back, and proves that they can be restored. */

import type { Readable } from 'node:stream';

/** A stored file: its name, when it was written, and its size in bytes. */
export interface StoredFile {
  name: string;
  modified: Date;
  size: number;
}

/** The files of one cluster. Every call rejects with a message that names the storage, and contains no secret. */
export interface SnapshotStorage {
  /** The place, for users: a bucket, or the volume. */
  readonly place: string;
  /** Writes a file completely, or not at all. `size`: its bytes, as far as known; storage without that room rejects first. */
  write(name: string, content: Readable, signal: AbortSignal, size?: number): Promise<void>;
  /** Returns the content of a file. */
  read(name: string, signal: AbortSignal): Promise<Readable>;
  list(signal: AbortSignal): Promise<StoredFile[]>;
  /** Removes a file; succeeds if it is gone. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}
