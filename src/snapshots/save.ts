import { rm } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import { type Keep, MAX_LISTED_SNAPSHOTS, SNAPSHOT_NAME, snapshotTime } from '#api/etcd-snapshots.ts';
import { messageOf } from '#base/errors.ts';
import type { SnapshotReport } from '#protocol/snapshot.ts';
import { checkAuthorities } from './authorities.ts';
import { type BundleInfo, type EtcdData, packed } from './bundle.ts';
import { decrypt, type ReadBack, SUFFIX, tryRestore } from './read-back.ts';
import { superfluous } from './retention.ts';
import type { HashKV, ScratchEtcd } from './scratch-etcd.ts';
import { sealed } from './seal.ts';
import type { SnapshotStorage } from './storage.ts';

/** The etcd of a cluster, as a run reaches it. */
export interface LiveEtcd {
  /** Streams etcd's data from a member. */
  snapshot(signal: AbortSignal): Promise<EtcdData>;
  /** Returns undefined if etcd has compacted the revision. */
  hashAt(revision: number): Promise<HashKV | undefined>;
  /** Returns authorities and keys of the cluster, as a .tar.gz. */
  authorities(): Promise<Buffer>;
}

const SAVE_STEPS = {
  save: 'Save the snapshot',
  verify: 'Verify the snapshot',
  prune: 'Remove old snapshots',
} as const;

export interface Saving extends ReadBack {
  live: LiveEtcd;
  info: Omit<BundleInfo, 'format' | 'createdAt'>;
  sequence: number;
  keep: Keep;
  now: Date;
  step(name: string): void;
  say(message: string): void;
}

/** Returns the name of the snapshot that an operation saves. */
const snapshotName = (at: Date, sequence: number): string =>
  `${at
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '')
    .toLowerCase()}-${sequence}`;

/** The end of the name of an empty file beside a snapshot that is not verified yet; such a snapshot does not count. */
const UNVERIFIED = '.unverified';
/** Time to remove a snapshot of a run that was cancelled. */
const REMOVE_MS = 20_000;

/**
 * Saves a snapshot: streams it from etcd into the storage, encrypted; reads it back and restores it as a test; removes those
 * that no rule keeps. If it is not what etcd has, or if the call is cancelled, it is removed, and the call rejects.
 */
export async function save(saving: Saving): Promise<SnapshotReport> {
  const { storage, identity, live, info, sequence, keep, now, step, say, signal, scratch } = saving;
  const name = snapshotName(now, sequence);
  step(SAVE_STEPS.save);
  const authorities = await live.authorities();
  await checkAuthorities(authorities, saving.keys);
  const etcd = await live.snapshot(signal);
  const bundle = packed({ ...info, format: 1, createdAt: now.toISOString() }, authorities, etcd);
  const content = watched(await sealed(watched(addAbortSignal(signal, bundle)), identity));
  let found: Comparison | undefined;
  let stored = false;
  try {
    // Whatever ends this process: a file beside which this one stays does not count.
    await storage.write(`${name}${UNVERIFIED}`, Readable.from([Buffer.from('\n')]), signal);
    await storage.write(`${name}${SUFFIX}`, content, signal, etcd.size);
    stored = true;
    say(`${name}: ${etcd.size} bytes of etcd's data are in ${storage.place}`);
    step(SAVE_STEPS.verify);
    await decrypt(saving, name);
    found = await tryRestore(saving, (restored) => compare(restored, live));
    await storage.remove(`${name}${UNVERIFIED}`, signal);
  } catch (error) {
    const left = await removed(storage, name, AbortSignal.timeout(REMOVE_MS));
    signal.throwIfAborted();
    if (!stored) throw error;
    throw new Error(`snapshot ${name} is not usable: ${messageOf(error)}; ${left}`, { cause: error });
  } finally {
    content.destroy();
    await rm(scratch, { recursive: true, force: true });
  }
  say(
    found
      ? verified(name, found)
      : `${name}: read back; not restored, as the installation has no archive of etcd`,
  );

  step(SAVE_STEPS.prune);
  const listed = await prune(storage, keep, name, say, signal);
  const { revision, compared } = found ?? { revision: 0, compared: undefined };
  return {
    saved: { name, size: etcd.size, revision, ...(compared === undefined ? {} : { compared }) },
    stored: listed,
  };
}

/** Removes a snapshot that does not count, and returns what became of it. */
const removed = async (storage: SnapshotStorage, name: string, signal: AbortSignal): Promise<string> => {
  try {
    await storage.remove(`${name}${SUFFIX}`, signal);
    await storage.remove(`${name}${UNVERIFIED}`, signal);
    return 'it was removed';
  } catch (error) {
    return `it could not be removed either (${messageOf(error)}): do not use it`;
  }
};

/** Returns the stream. Its reader sees an error, even if that comes before the reader does; it does not end the process. */
function watched(stream: Readable): Readable {
  return stream.on('error', () => {});
}

interface Comparison {
  revision: number;
  compared?: true;
}

const verified = (name: string, { revision, compared }: Comparison): string =>
  compared
    ? `${name}: restored, and equal to etcd at revision ${revision}`
    : `${name}: restored, at revision ${revision}; etcd has compacted that revision, so the data was not compared`;

/**
 * Compares the hash of the restored data with that of the live etcd. Hashes are equal only after the same compaction, as
 * etcd's own check between members demands (etcd.io, Data corruption).
 */
async function compare(restored: ScratchEtcd & { whole: HashKV }, live: LiveEtcd): Promise<Comparison> {
  const { revision, compactRevision } = restored.whole;
  const there = await live.hashAt(revision);
  if (!there || there.compactRevision > revision) return { revision };
  if (there.compactRevision > compactRevision) await restored.compact(there.compactRevision);
  const here = await restored.hashAt(revision);
  // etcd may have compacted once more between the two questions.
  if (here.compactRevision !== there.compactRevision) return { revision };
  if (here.hash !== there.hash)
    throw new Error(
      `its data differs from etcd's at revision ${revision} (hash ${here.hash}, not ${there.hash})`,
    );
  return { revision, compared: true };
}

/** Removes the snapshots that no rule keeps, and returns the others, the newest first. */
async function prune(
  storage: SnapshotStorage,
  keep: Keep,
  saved: string,
  say: (message: string) => void,
  signal: AbortSignal,
): Promise<SnapshotReport['stored']> {
  const listed = await storage.list(signal);
  const named = (end: string) =>
    listed.flatMap(({ name: file, size }) => {
      const name = file.endsWith(end) ? file.slice(0, -end.length) : '';
      // Anything else is not ours.
      return SNAPSHOT_NAME.test(name) ? [{ name, size, createdAt: snapshotTime(name) }] : [];
    });
  const unverified = new Set(named(UNVERIFIED).map(({ name }) => name));
  for (const name of unverified) say(`${name}: was never verified; ${await removed(storage, name, signal)}`);
  const files = named(SUFFIX).filter(({ name }) => !unverified.has(name));
  const gone = new Set<string>();
  for (const { name } of superfluous(files, keep)) {
    // A clock that was ahead may have left names that are later.
    if (name === saved) continue;
    try {
      await storage.remove(`${name}${SUFFIX}`, signal);
      gone.add(name);
      say(`${name}: removed, as spec.etcdSnapshots.keep says`);
    } catch (error) {
      signal.throwIfAborted();
      say(`${name}: is to be removed, and stays: ${messageOf(error)}`);
    }
  }
  return files
    .filter(({ name }) => !gone.has(name))
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
    .slice(0, MAX_LISTED_SNAPSHOTS)
    .map(({ name, size, createdAt }) => ({ name, size, createdAt: createdAt.toISOString() }));
}
