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
/** Times after which a request is given up: without a connection, without an answer, without any byte. */
const LIMITS_MS = { connect: 10_000, answer: 120_000, silent: 60_000 } as const;
const ATTEMPTS = 3;

/** Codes of errors of certificates, which a user can fix by ca.crt (Node.js, X509 certificate error codes). */
const CERTIFICATE = /CERT|SIGNATURE|ALTNAME|ISSUER/;

/** Returns the cause of a failed request. */
function explained(error: unknown): string {
  // The server's code says more than its text, which may quote anything.
  if (error instanceof S3ServiceException)
    return `${error.name} (status ${error.$metadata.httpStatusCode ?? 'none'})`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isConnection = code !== '' || (error instanceof Error && error.name === 'TimeoutError');
  // Otherwise a user who chooses the endpoint could find out what listens in the network of the operator.
  return isConnection && !CERTIFICATE.test(code)
    ? 'it does not answer; check the endpoint, and whether the meta cluster reaches it'
    : messageOf(error);
}

/** Stores files in a bucket of S3-compatible storage, below `<prefix>/<cluster id>/`. */
export function s3Storage(
  config: Extract<SnapshotStorageConfig, { kind: 's3' }>,
  clusterId: string,
  limitsMs: Record<keyof typeof LIMITS_MS, number> = LIMITS_MS,
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
      connectionTimeout: limitsMs.connect,
      requestTimeout: limitsMs.answer,
      throwOnRequestTimeout: true,
      socketTimeout: limitsMs.silent,
      ...(authorities === undefined ? {} : { httpsAgent: new Agent({ ca: authorities, keepAlive: true }) }),
    },
  });
  const key = (name: string) => `${folder}${name}`;
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
