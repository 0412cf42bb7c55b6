import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, fetch, RetryAgent } from 'undici';
import { causeOf } from '#base/errors.ts';

/** Limit of one download, for the largest file over a slow connection. */
export const FILE_TIMEOUT_MS = 15 * 60_000;

/** A connection that breaks is continued where it broke (RFC 9110, Range Requests), after 0.5, 1 and 2 seconds. */
const continued = new RetryAgent(new Agent(), {
  maxRetries: 3,
  minTimeout: 500,
  timeoutFactor: 2,
  throwOnError: false,
});

/**
 * Downloads a file and checks its SHA-256 sum. Until both are done, `path` stays as it is.
 *
 * @param onBytes called with the number of bytes of each part that has arrived
 */
export async function download(
  url: string,
  path: string,
  sha256: string,
  onBytes: (count: number) => void = () => {},
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const signal = AbortSignal.timeout(FILE_TIMEOUT_MS);
  const response = await fetch(url, { dispatcher: continued, signal }).catch((error: unknown) => {
    throw new Error(`${url}: ${causeOf(error)}`, { cause: error });
  });
  if (!response.ok || response.body === null)
    throw new Error(`${url}: ${response.status} ${response.statusText}`);
  const hash = createHash('sha256');
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      onBytes(chunk.length);
      done(null, chunk);
    },
  });
  const part = `${path}.part`;
  try {
    await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(part));
    const got = hash.digest('hex');
    if (got !== sha256) throw new Error(`${url} has the sum ${got}, wanted ${sha256}`);
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}
