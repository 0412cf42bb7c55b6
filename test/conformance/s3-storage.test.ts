import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { fetch } from 'undici';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { sleep } from '#base/clock.ts';
import { type OwnedProcess, startOwned } from '#lab/apiserver/owned-process.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { s3Storage } from '#snapshots/s3-storage.ts';
import type { SnapshotStorage } from '#snapshots/storage.ts';

/** The client of S3-compatible storage with a real server, versitygw. */

const [ID, SECRET] = ['lab-id', 'lab-secret-key'];
const BUILD_MS = 600_000;
let [dir, endpoint] = ['', ''];
let server: OwnedProcess | undefined;
let storage: SnapshotStorage;

const open = (over: Partial<Parameters<typeof s3Storage>[0]> = {}, clusterId = 'abc'): SnapshotStorage =>
  s3Storage(
    {
      ...{ kind: 's3', endpoint, bucket: 'clusters', region: 'us-east-1', prefix: 'east' },
      ...{ accessKeyId: ID, secretAccessKey: SECRET },
      ...over,
    },
    clusterId,
  );

beforeAll(async () => {
  const binaries = await ensureBinaries('s3', ['versitygw'], () => {});
  dir = await mkdtemp(join(tmpdir(), 's3-'));
  for (const folder of ['data/clusters', 'about']) await mkdir(join(dir, folder), { recursive: true });
  const [port = 0] = await freePorts(1);
  endpoint = `http://127.0.0.1:${port}`;
  server = await startOwned(
    join(binaries, 'versitygw'),
    [
      ...['--access', ID, '--secret', SECRET, '--port', `127.0.0.1:${port}`, '--quiet'],
      ...['posix', '--sidecar', join(dir, 'about'), join(dir, 'data')],
    ],
    join(dir, 'log'),
  );
  while (!(await fetch(endpoint).catch(() => undefined))) await sleep(50);
  storage = open();
}, BUILD_MS);

afterAll(async () => {
  await server?.stop();
  await rm(dir, { recursive: true, force: true });
});

const { signal } = new AbortController();
const names = async (of: SnapshotStorage) => (await of.list(signal)).map(({ name }) => name).toSorted();

it('writes in parts, lists, reads and removes the files of a cluster', async () => {
  // Three parts, the last one shorter.
  const content = randomBytes(20 * 1024 * 1024 + 7);
  await storage.write('a.age', Readable.from(chunksOf(content)), signal);
  expect(await storage.list(signal)).toEqual([
    { name: 'a.age', size: content.length, modified: expect.any(Date) },
  ]);
  expect(content.equals(await buffer(await storage.read('a.age', signal)))).toBe(true);
  await storage.remove('a.age', signal);
  await storage.remove('a.age', signal);
  expect(await names(storage)).toEqual([]);
});

it('keeps clusters apart', async () => {
  await open({}, 'other').write('b.age', Readable.from([Buffer.from('b')]), signal);
  expect(await names(storage)).toEqual([]);
  expect(await names(open({}, 'other'))).toEqual(['b.age']);
  expect(await names(open({ prefix: '' }, 'other'))).toEqual([]);
});

it('leaves nothing if the content fails, and says why', async () => {
  const content = Readable.from(
    (async function* () {
      yield randomBytes(9 * 1024 * 1024);
      throw new Error('etcd ended');
    })(),
  );
  await expect(storage.write('c.age', content, signal)).rejects.toThrow('etcd ended');
  expect(await names(storage)).toEqual([]);
});

it('leaves nothing if it is cancelled', async () => {
  const cancelled = new AbortController();
  const content = Readable.from(
    (async function* () {
      yield randomBytes(9 * 1024 * 1024);
      cancelled.abort(new Error('cancelled'));
      yield randomBytes(1024);
    })(),
  );
  await expect(storage.write('d.age', content, cancelled.signal)).rejects.toThrow('cancelled');
  expect(await names(storage)).toEqual([]);
});

it.each<[string, Partial<Parameters<typeof s3Storage>[0]>, string]>([
  ['a wrong key', { secretAccessKey: 'wrong-secret' }, 'SignatureDoesNotMatch'],
  ['a login that this server does not know', { accessKeyId: 'nobody' }, 'XAdminUserNotFound'],
  ['a missing bucket', { bucket: 'missing' }, 'NoSuchBucket'],
  ['no server', { endpoint: 'http://127.0.0.1:1' }, 'it does not answer; check the endpoint'],
  ['an unknown name', { endpoint: 'http://s3.invalid' }, 'it does not answer; check the endpoint'],
])('names the storage and the cause with %s, and no secret', async (_what, over, cause) => {
  const given = open(over);
  const error: unknown = await given.list(signal).catch((caught: unknown) => caught);
  expect(String(error)).toContain(cause);
  expect(String(error)).toContain(given.place);
  expect(String(error)).not.toMatch(/secret/);
  await expect(given.write('e.age', Readable.from([Buffer.from('e')]), signal)).rejects.toThrow(cause);
});

/** Returns an endpoint that answers each request with these bytes, and then nothing. */
async function silentServer(answer: string) {
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(answer));
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(async () => void silent.close());
  const address = silent.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return s3Storage(
    {
      ...{ kind: 's3', endpoint: `http://127.0.0.1:${address.port}`, bucket: 'b', region: 'us-east-1' },
      ...{ prefix: '', accessKeyId: ID, secretAccessKey: SECRET },
    },
    'abc',
    { connect: 1000, answer: 300, silent: 300 },
  );
}

it('gives up a server that accepts a request and never answers', async () => {
  const given = await silentServer('');
  await expect(given.list(signal)).rejects.toThrow('it does not answer');
  await expect(given.write('g.age', Readable.from([Buffer.from('g')]), signal)).rejects.toThrow(
    'it does not answer',
  );
});

it('gives up a server that stops in the middle of a file', async () => {
  const given = await silentServer('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegins');
  await expect(given.read('h.age', signal).then(buffer)).rejects.toThrow();
});

it('says which file is missing', async () => {
  await expect(storage.read('f.age', signal)).rejects.toThrow(
    'has no file f.age that can be read: NoSuchKey',
  );
});

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += 64 * 1024) yield content.subarray(at, at + 64 * 1024);
}
