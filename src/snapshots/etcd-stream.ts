import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { EtcdData } from './bundle.ts';

/**
 * Reads the snapshot that etcd streams by its JSON gateway (etcd.io, gRPC gateway; rpc.proto, Maintenance.Snapshot): a line
 * for each part, `{"result": {"remaining_bytes": "…", "blob": "<base64>"}}`. The last 32 bytes are the SHA-256 of the rest.
 */

const partSchema = z.object({
  result: z.object({
    /** A number as text; absent if it is 0. */
    remaining_bytes: z.string().regex(/^\d+$/).default('0'),
    /** Base64; a damaged one does not have the sum. */
    blob: z.string().default(''),
  }),
});
const errorSchema = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

/** The request for the stream, to the gateway of a member. */
export const SNAPSHOT_PATH = '/v3/maintenance/snapshot';
const SUM_BYTES = 32;

interface Part {
  blob: Buffer;
  remaining: number;
}

function partOf(line: string): Part | undefined {
  // Output of the host's shell, before and after.
  if (!line.startsWith('{')) return undefined;
  const json: unknown = JSON.parse(line);
  const failed = errorSchema.safeParse(json);
  if (failed.success) {
    const { error } = failed.data;
    throw new Error(
      `etcd gives no snapshot: ${(typeof error === 'string' ? error : error.message).slice(0, 300)}`,
    );
  }
  const { remaining_bytes, blob } = partSchema.parse(json).result;
  return { blob: Buffer.from(blob, 'base64'), remaining: Number(remaining_bytes) };
}

/** Returns etcd's data from the lines. Its content rejects if the stream ends too early, or does not have its sum. */
export async function etcdSnapshot(lines: AsyncIterable<string>): Promise<EtcdData> {
  const parts = partsIn(lines);
  const { value: first } = await parts.next();
  if (!first) throw new Error('etcd gives no snapshot: it ended without an answer');
  // The count of what remains leaves the sum out.
  const size = first.blob.length + first.remaining + SUM_BYTES;
  return { size, content: checked(first, parts, size) };
}

async function* partsIn(lines: AsyncIterable<string>): AsyncGenerator<Part, undefined> {
  for await (const line of lines) {
    const part = partOf(line);
    if (part && part.blob.length > 0) yield part;
  }
  return undefined;
}

async function* checked(first: Part, parts: AsyncIterable<Part>, size: number): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let bytes = 0;
  /** The last 32 bytes so far, which are the sum if nothing follows. */
  let tail: Buffer = Buffer.alloc(0);
  const take = (blob: Buffer) => {
    bytes += blob.length;
    // Only ends are copied: a part has tens of KiB, and copies of all would fill the memory until they are collected.
    const end = blob.subarray(-SUM_BYTES);
    const ends = Buffer.concat([tail, end]);
    const before = Math.max(0, ends.length - SUM_BYTES);
    hash.update(ends.subarray(0, Math.min(before, tail.length)));
    hash.update(blob.subarray(0, blob.length - end.length));
    tail = ends.subarray(before);
  };
  take(first.blob);
  yield first.blob;
  for await (const { blob } of parts) {
    take(blob);
    yield blob;
  }
  if (bytes !== size) throw new Error(`etcd's snapshot ended after ${bytes} of ${size} bytes`);
  if (!hash.digest().equals(tail)) throw new Error("etcd's snapshot does not have its SHA-256");
}
