import { Agent } from 'node:https';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { messageOf } from '#base/errors.ts';
import type { SnapshotStorageConfig } from '#protocol/snapshot.ts';
import type { SnapshotStorage, StoredFile } from './storage.ts';

/** A part of an upload. A file has at most 10,000 parts (S3 API, UploadPart), so this suffices for 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
/** Parts that are sent at once; each is in memory. */
const PARALLEL_PARTS = 2;
const CONNECT_MS = 10_000;
/** Time without any byte after which a request is given up. */
const SILENT_MS = 60_000;
const ATTEMPTS = 3;

/** Stores files in a bucket of S3-compatible storage, below `<prefix>/<cluster id>/`. */
export function s3Storage(
  config: Extract<SnapshotStorageConfig, { kind: 's3' }>,
  clusterId: string,
): SnapshotStorage {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey, authorities } = config;
  const folder = [config.prefix.replaceAll(/^\/+|\/+$/g, ''), clusterId, '']
    .filter((part, at) => at > 0 || part !== '')
    .join('/');
  const place = `bucket ${bucket} at ${new URL(endpoint).host}`;
  const client = new S3Client({
    endpoint,
    region,
    // Most compatible servers know no bucket by host name.
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: ATTEMPTS,
    // Servers other than Amazon's may not know its newer checksums. The content is read back and compared.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: SILENT_MS,
      ...(authorities === undefined ? {} : { httpsAgent: new Agent({ ca: authorities, keepAlive: true }) }),
    },
  });
  const key = (name: string) => `${folder}${name}`;
  /** The server's code says more than its text, which may quote anything. */
  const explained = (error: unknown): string =>
    error instanceof S3ServiceException
      ? `${error.name} (status ${error.$metadata.httpStatusCode ?? 'none'})`
      : messageOf(error);
  async function attempt<T>(what: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${place} ${what}: ${explained(error)}`, { cause: error });
    }
  }
  return {
    place,
    write: (name, content, signal) =>
      attempt('cannot be written', signal, async () => {
        const upload = new Upload({
          client,
          params: { Bucket: bucket, Key: key(name), Body: content },
          partSize: PART_BYTES,
          queueSize: PARALLEL_PARTS,
        });
        // An upload that is not completed is no file; its parts are removed.
        const abort = () => void upload.abort().catch(() => {});
        signal.addEventListener('abort', abort, { once: true });
        content.once('error', abort);
        try {
          await upload.done();
        } catch (error) {
          throw content.errored ?? error;
        } finally {
          signal.removeEventListener('abort', abort);
        }
      }),
    read: (name, signal) =>
      attempt(`has no file ${name} that can be read`, signal, async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key(name) }), {
          abortSignal: signal,
        });
        if (!(Body instanceof Readable)) throw new Error('the answer has no content');
        return Body;
      }),
    list: (signal) =>
      attempt('cannot be listed', signal, async () => {
        const files: StoredFile[] = [];
        for (let token: string | undefined; ; ) {
          const page = await client.send(
            new ListObjectsV2Command({ Bucket: bucket, Prefix: folder, ContinuationToken: token }),
            { abortSignal: signal },
          );
          for (const { Key = '', LastModified = new Date(0), Size = 0 } of page.Contents ?? [])
            files.push({ name: Key.slice(folder.length), modified: LastModified, size: Size });
          token = page.NextContinuationToken;
          if (token === undefined) return files;
        }
      }),
    remove: (name, signal) =>
      attempt(`cannot remove ${name}`, signal, async () => {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key(name) }), {
          abortSignal: signal,
        });
      }),
  };
}
