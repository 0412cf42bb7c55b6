import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { fetch } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sleep } from '#base/clock.ts';
import { type OwnedProcess, startOwned } from '#lab/apiserver/owned-process.ts';
import { freePorts } from '#lab/apiserver/ports.ts';
import { ensureBinaries } from '#lab/artifacts/binaries.ts';
import { BUNDLE_FILES, packed } from '#snapshots/bundle.ts';
import { directoryStorage } from '#snapshots/directory-storage.ts';
import { etcdSnapshot, SNAPSHOT_PATH } from '#snapshots/etcd-stream.ts';
import { load } from '#snapshots/load.ts';
import { decrypt, tryRestore } from '#snapshots/read-back.ts';
import { type LiveEtcd, type Saving, save } from '#snapshots/save.ts';
import { HASH_PATH, hashFrom } from '#snapshots/scratch-etcd.ts';
import { newIdentity, sealed } from '#snapshots/seal.ts';

/** Snapshots of a real etcd, over the JSON gateway that a run asks on a host. */

const BUILD_MS = 600_000;
let [url, dir, identity] = ['', '', ''];
let member: OwnedProcess | undefined;
let binaries = '';

beforeAll(async () => {
  binaries = await ensureBinaries('etcd', ['etcd', 'etcdutl'], () => {});
  dir = await mkdtemp(join(tmpdir(), 'etcd-snapshots-'));
  const [client = 0, peer = 0] = await freePorts(2);
  url = `http://127.0.0.1:${client}`;
  const flags = [
    '--data-dir',
    join(dir, 'etcd'),
    '--listen-client-urls',
    url,
    '--advertise-client-urls',
    url,
  ];
  const peers = ['--listen-peer-urls', `http://127.0.0.1:${peer}`, '--log-level', 'error'];
  member = await startOwned(join(binaries, 'etcd'), [...flags, ...peers], join(dir, 'etcd.log'));
  while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) await sleep(50);
  identity = await newIdentity();
  for (let at = 0; at < 200; at += 1) await put(`key-${at}`, 'x'.repeat(5_000));
}, BUILD_MS);

afterAll(async () => {
  await member?.stop();
  await rm(dir, { recursive: true, force: true });
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const post = async (path: string, body: unknown): Promise<string> => {
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  return text;
};
const put = (key: string, value: string) => post('/v3/kv/put', { key: base64(key), value: base64(value) });

const hashAt = async (revision: number) => hashFrom(await post(HASH_PATH, { revision }));
const live: LiveEtcd = {
  async snapshot() {
    const { body } = await fetch(`${url}${SNAPSHOT_PATH}`, { method: 'POST', body: '{}' });
    if (!body) throw new Error('no answer');
    return etcdSnapshot(createInterface({ input: Readable.fromWeb(body) }));
  },
  hashAt,
  authorities: () => keysOf(...KEYS),
};
const KEYS = [
  ...['ca.crt', 'ca.key', 'front-proxy-ca.crt', 'front-proxy-ca.key'],
  ...['etcd/ca.crt', 'etcd/ca.key', 'sa.key', 'sa.pub'],
];
/** Returns an archive with files of these names. */
async function keysOf(...names: string[]): Promise<Buffer> {
  const archive = pack();
  for (const name of names) archive.entry({ name, mtime: new Date(0) }, 'a key of the cluster');
  archive.finalize();
  return gzipSync(Buffer.concat(await Readable.from(archive).toArray()));
}

let [made, now] = [0, Date.parse('2026-11-29T02:00:00Z')];
function saving(over: Partial<Saving> = {}): Saving & { said: string[]; steps: string[]; place: string } {
  made += 1;
  const place = join(dir, `storage-${made}`);
  const [said, steps]: [string[], string[]] = [[], []];
  now += 3_600_000;
  return {
    storage: directoryStorage(place),
    identity,
    programs: async () => ({ etcd: join(binaries, 'etcd'), etcdutl: join(binaries, 'etcdutl') }),
    keys: [],
    scratch: join(dir, `scratch-${made}`),
    signal: new AbortController().signal,
    live,
    info: {
      cluster: { id: 'abc', namespace: 'team-a', name: 'demo' },
      kubeVersion: 'v1.35.4',
      etcdImage: 'registry.k8s.io/etcd:3.6.6-0',
    },
    sequence: made,
    keep: {},
    now: new Date(now),
    step: (name) => steps.push(name),
    say: (message) => said.push(message),
    ...over,
    said,
    steps,
    place,
  };
}

it('saves what etcd has while clients write, and proves it by a restored etcd', async () => {
  const one = saving();
  const over = new AbortController();
  let written = 0;
  const writer = (async () => {
    while (!over.signal.aborted) {
      await put(`during-${written % 50}`, `value ${written}`);
      written += 1;
    }
  })();
  const report = await save(one);
  over.abort();
  await writer;
  expect(written).toBeGreaterThan(0);
  expect(report.saved).toMatchObject({ name: '20261129t030000z-1', compared: true });
  expect(report.stored).toEqual([
    { name: '20261129t030000z-1', createdAt: '2026-11-29T03:00:00.000Z', size: expect.any(Number) },
  ]);
  expect(one.steps).toEqual(['Save the snapshot', 'Verify the snapshot', 'Remove old snapshots']);
  expect(one.said.join('\n')).toContain('restored, and equal to etcd at revision');
  // Nothing decrypted is left behind.
  await expect(readdir(one.scratch)).rejects.toThrow('ENOENT');
  const stored = await readFile(join(one.place, '20261129t030000z-1.age'));
  expect(stored.includes(await keysOf(...KEYS))).toBe(false);
});

it('still compares after etcd has compacted', async () => {
  const one = saving({
    live: {
      ...live,
      hashAt: async (revision) => {
        await post('/v3/kv/compaction', { revision: revision - 1, physical: true }).catch(() => {});
        return hashAt(revision);
      },
    },
  });
  expect((await save(one)).saved).toMatchObject({ compared: true });
});

it('reads back keys and data', async () => {
  const one = saving();
  const { saved } = await save(one);
  const info = await decrypt(one, saved?.name ?? '');
  expect(info).toMatchObject({ format: 1, cluster: { id: 'abc', name: 'demo' }, kubeVersion: 'v1.35.4' });
  expect(await readFile(join(one.scratch, BUNDLE_FILES.authorities))).toEqual(await keysOf(...KEYS));
  const revision = await tryRestore(one, async ({ whole }) => whole.revision);
  expect(revision).toBe(saved?.revision);
});

it('loads a snapshot for the cluster and the version that it is of, and for no other', async () => {
  const one = saving();
  const { saved } = await save(one);
  const loading = { ...one, name: saved?.name ?? '' };
  const loaded = await load({ ...loading, cluster: { id: 'abc', kubeVersion: 'v1.35.4' } });
  expect(loaded.authorities).toEqual(await keysOf(...KEYS));
  expect((await readFile(loaded.file)).length).toBe(loaded.size);
  await expect(load({ ...loading, cluster: { id: 'other', kubeVersion: 'v1.35.4' } })).rejects.toThrow(
    'is of another cluster, team-a/demo; no host was changed',
  );
  await expect(load({ ...loading, cluster: { id: 'abc', kubeVersion: 'v1.34.4' } })).rejects.toThrow(
    'is of Kubernetes v1.35.4, and the cluster is of v1.34.4',
  );
  await expect(
    load({ ...loading, name: '20200101t000000z-1', cluster: { id: 'abc', kubeVersion: 'v1.35.4' } }),
  ).rejects.toThrow('has no file 20200101t000000z-1.age');
});

it('removes a snapshot whose data differs from that of etcd', async () => {
  const one = saving({
    live: { ...live, hashAt: async (revision) => ({ ...(await hashAt(revision)), hash: 1 }) },
  });
  await expect(save(one)).rejects.toThrow(/is not usable: its data differs from etcd's .*; it was removed/);
  expect(await readdir(one.place)).toEqual([]);
});

it.each([
  ['cut off', async (file: string) => truncate(file, 4_000)],
  [
    'altered',
    async (file: string) => {
      const bytes = await readFile(file);
      bytes[100_000] = (bytes[100_000] ?? 0) ^ 1;
      await writeFile(file, bytes);
    },
  ],
])('finds out that the storage has it %s, although it reported success', async (_how, damage) => {
  const one = saving();
  const { write } = one.storage;
  const storage = {
    ...one.storage,
    async write(name: string, content: Readable, signal: AbortSignal) {
      await write(name, content, signal);
      await damage(join(one.place, name));
    },
  };
  await expect(save({ ...one, storage })).rejects.toThrow(/is not usable: .*; it was removed/);
});

it('stores nothing if etcd ends in the middle', async () => {
  const lines = async function* (): AsyncGenerator<string> {
    const { body } = await fetch(`${url}${SNAPSHOT_PATH}`, { method: 'POST', body: '{}' });
    let count = 0;
    for await (const line of createInterface({ input: Readable.fromWeb(body ?? new ReadableStream()) })) {
      count += 1;
      if (count > 5) return;
      yield line;
    }
  };
  const one = saving({ live: { ...live, snapshot: async () => etcdSnapshot(lines()) } });
  await expect(save(one)).rejects.toThrow(/ended after \d+ of \d+ bytes/);
  expect(await readdir(one.place)).toEqual([]);
});

it('stores nothing if the volume has no room for it', async () => {
  const whole = await live.snapshot(new AbortController().signal);
  const huge = { ...live, snapshot: async () => ({ ...whole, size: 1e15 }) };
  const one = saving({ live: huge });
  await expect(save(one)).rejects.toThrow(/bytes left, and \d+ are needed for 1000000000000000 bytes/);
  expect(await readdir(one.place)).toEqual([]);
});

it('is not read with another key', async () => {
  const one = saving();
  const { saved } = await save(one);
  const other = { ...one, identity: await newIdentity() };
  await expect(decrypt(other, saved?.name ?? '')).rejects.toThrow(
    'cannot be decrypted with this age-identity',
  );
});

it('stops when it is cancelled, and leaves no part of a file', async () => {
  const cancelled = new AbortController();
  const slow = async function* (): AsyncGenerator<string> {
    const { body } = await fetch(`${url}${SNAPSHOT_PATH}`, { method: 'POST', body: '{}' });
    for await (const line of createInterface({ input: Readable.fromWeb(body ?? new ReadableStream()) })) {
      yield line;
      cancelled.abort(new Error('cancelled'));
    }
  };
  const one = saving({
    signal: cancelled.signal,
    live: { ...live, snapshot: async () => etcdSnapshot(slow()) },
  });
  await expect(save(one)).rejects.toThrow('cancelled');
  expect(await readdir(one.place)).toEqual([]);
});

it('keeps the newest, and touches no other file', async () => {
  const first = saving({ keep: { last: 2 } });
  await save(first);
  await writeFile(join(first.place, 'notes.txt'), 'mine');
  for (let round = 0; round < 2; round += 1)
    await save(saving({ storage: first.storage, keep: { last: 2 } }));
  const names = await readdir(first.place);
  expect(names).toContain('notes.txt');
  expect(names.filter((name) => name.endsWith('.age'))).toHaveLength(2);
});

it.each([
  ['a key', KEYS.filter((name) => name !== 'sa.key'), [], 'it lacks keys of the cluster: sa.key'],
  [
    'the key of encryption',
    KEYS,
    ['matryoshka/encryption.yaml'],
    'lacks keys of the cluster: matryoshka/enc',
  ],
])('neither saves nor loads a snapshot without %s', async (_what, names, keys, reason) => {
  const lacking = { ...live, authorities: () => keysOf(...names) };
  const one = saving({ keys, live: lacking });
  await expect(save(one)).rejects.toThrow(reason);
  expect(await readdir(one.place).catch(() => [])).toEqual([]);

  const { storage, ...other } = saving();
  const content = packed(
    { ...other.info, format: 1, createdAt: '2026-11-29T02:00:00.000Z' },
    await lacking.authorities(),
    await live.snapshot(other.signal),
  );
  await storage.write('20261129t020000z-1.age', await sealed(content, identity), other.signal);
  const loading = { ...other, storage, keys, name: '20261129t020000z-1' };
  await expect(load({ ...loading, cluster: { id: 'abc', kubeVersion: 'v1.35.4' } })).rejects.toThrow(reason);
});

it('removes a snapshot if it is cancelled while it is verified', async () => {
  const cancelled = new AbortController();
  const one = saving({
    signal: cancelled.signal,
    live: {
      ...live,
      hashAt: async () => {
        cancelled.abort(new Error('cancelled'));
        throw new Error('cut off');
      },
    },
  });
  await expect(save(one)).rejects.toThrow('cancelled');
  expect(await readdir(one.place)).toEqual([]);
});

it('does not count a snapshot of a run that ended while it verified it, and removes it', async () => {
  const lost = saving();
  const never = new Promise<undefined>(() => {});
  const verifying = Promise.withResolvers<void>();
  const stuck = {
    ...live,
    hashAt: () => {
      verifying.resolve();
      return never;
    },
  };
  void save({ ...lost, live: stuck });
  await verifying.promise;
  const left = await readdir(lost.place);
  expect(left).toHaveLength(2);
  const next = saving({ storage: lost.storage });
  const { saved, stored } = await save(next);
  expect(stored.map(({ name }) => name)).toEqual([saved?.name]);
  expect(await readdir(lost.place)).toEqual([`${saved?.name}.age`]);
  expect(next.said.join()).toContain('was never verified; it was removed');
});

it('does not count a snapshot that could not be compared', async () => {
  const one = saving({ live: { ...live, hashAt: () => Promise.reject(new Error('no member answers')) } });
  await expect(save(one)).rejects.toThrow('is not usable: no member answers; it was removed');
  const compacted = saving({ live: { ...live, hashAt: async () => undefined } });
  const { saved } = await save(compacted);
  expect(saved).not.toHaveProperty('compared');
  expect(compacted.said.join()).toContain('etcd has compacted that revision');
});
