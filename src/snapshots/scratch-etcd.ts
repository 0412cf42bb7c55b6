import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { fetch } from 'undici';
import { z } from 'zod';
import { sleep } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { EtcdPrograms } from './etcd-programs.ts';

/** A hash of keys and values up to a revision (rpc.proto, Maintenance.HashKV). */
export interface HashKV {
  hash: number;
  revision: number;
  compactRevision: number;
}

const count = z.coerce.number().int().default(0);
/** Parses the answer of the JSON gateway to HashKV, which leaves zeros out. */
const hashSchema = z
  .object({ header: z.object({ revision: count }), hash: count, compact_revision: count })
  .transform(({ header, hash, compact_revision }) => ({
    hash,
    revision: header.revision,
    compactRevision: compact_revision,
  }));
export const hashFrom = (text: string): HashKV => hashSchema.parse(JSON.parse(text));
export const HASH_PATH = '/v3/maintenance/hashkv';

/** An etcd of one member, with the data of a snapshot, for questions only. */
export interface ScratchEtcd {
  hashAt(revision: number): Promise<HashKV>;
  compact(revision: number): Promise<void>;
}

/** Memory beyond which Go collects garbage more often (pkg.go.dev/runtime). Pages of files do not count. */
const GOMEMLIMIT = '32MiB';
const RESTORE_MS = 300_000;
const START_MS = 120_000;
const ASK_MS = 60_000;

/** Restores a snapshot as an etcd on loopback, calls `ask`, and removes all of it. Rejects if it cannot be restored. */
export async function withScratchEtcd<T>(
  { etcd, etcdutl }: EtcdPrograms,
  snapshot: string,
  directory: string,
  signal: AbortSignal,
  ask: (scratch: ScratchEtcd) => Promise<T>,
): Promise<T> {
  const data = join(directory, 'scratch-etcd');
  await rm(data, { recursive: true, force: true });
  const restored = await execa(etcdutl, ['snapshot', 'restore', snapshot, '--data-dir', data], {
    reject: false,
    all: true,
    cancelSignal: signal,
    timeout: RESTORE_MS,
    env: { GOMEMLIMIT },
  });
  signal.throwIfAborted();
  if (restored.failed) throw new Error(`etcd's data cannot be restored: ${lastLine(restored.all)}`);
  const [client, peer] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${client}`;
  const server = execa(
    etcd,
    [
      ...['--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', `http://127.0.0.1:${peer}`],
      // It is deleted at once.
      '--unsafe-no-fsync',
      ...['--log-level', 'error'],
    ],
    { reject: false, all: true, cancelSignal: signal, env: { GOMEMLIMIT } },
  );
  try {
    await ready(url, server, signal);
    return await ask({
      hashAt: async (revision) => hashFrom(await post(`${url}${HASH_PATH}`, { revision }, signal)),
      compact: async (revision) => {
        await post(`${url}/v3/kv/compaction`, { revision, physical: true }, signal);
      },
    });
  } finally {
    server.kill('SIGKILL');
    await server;
    await rm(data, { recursive: true, force: true });
  }
}

const lastLine = (text: string | undefined): string =>
  (text ?? '').trim().split('\n').at(-1)?.slice(0, 500) ?? '';

async function ready(
  url: string,
  server: PromiseLike<{ all?: string | undefined }>,
  signal: AbortSignal,
): Promise<void> {
  let ended: string | undefined;
  void Promise.resolve(server).then(({ all }) => {
    ended = lastLine(all);
  });
  const end = performance.now() + START_MS;
  for (;;) {
    const answer = await fetch(`${url}/health`, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    signal.throwIfAborted();
    if (ended !== undefined) throw new Error(`etcd does not start with the restored data: ${ended}`);
    if (performance.now() > end)
      throw new Error(`etcd with the restored data is not ready after ${START_MS / 1000} s`);
    await sleep(100, signal);
  }
}

async function post(url: string, body: unknown, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the restored etcd answers ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port is free');
    return address.port;
  } catch (error) {
    throw new Error(`no port for etcd: ${messageOf(error)}`, { cause: error });
  } finally {
    server.close();
  }
}
