import { rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { z } from 'zod';
import type { SnapshotReport } from '#protocol/snapshot.ts';
import { bringEtcd } from '#snapshots/etcd-programs.ts';
import { load } from '#snapshots/load.ts';
import { openStorage } from '#snapshots/open-storage.ts';
import type { ReadBack } from '#snapshots/read-back.ts';
import { type Saving, save } from '#snapshots/save.ts';
import type { SshConnection } from '#ssh/connection.ts';
import { liveEtcd } from './live-etcd.ts';
import type { Settings } from './settings.ts';

const releaseSchema = z.object({
  component_images: z.object({ etcd: z.string() }),
  artifact_images: z.array(z.object({ image: z.string(), path: z.string(), sha256: z.string() })),
});

/** Functions that report the progress of work with a snapshot. */
export type Progress = Pick<Saving, 'step' | 'say'>;
const LOAD_STEP = 'Load the snapshot';

const versionOf = ({ runSpec }: Settings): string => String(runSpec.vars['kube_version']);

/** Returns etcd's image of the cluster's release, and where its snapshots are. */
async function opened(settings: Settings, signal: AbortSignal): Promise<ReadBack & { etcdImage: string }> {
  const { access, artifacts, runSpec, SCRATCH_DIR } = settings;
  if (!access.snapshots) throw new Error('the run has no storage for snapshots');
  const { identity, storage } = access.snapshots;
  const { baseUrl, releases } = artifacts;
  const release = releaseSchema.parse(releases[versionOf(settings)] ?? {});
  const etcdImage = release.component_images.etcd;
  const file = release.artifact_images.find(({ image }) => image === etcdImage);
  const archive =
    file && baseUrl.startsWith('http') ? { url: `${baseUrl}/${file.path}`, sha256: file.sha256 } : undefined;
  return {
    storage: await openStorage(storage, runSpec.cluster.id),
    identity,
    programs: archive && ((directory, within) => bringEtcd(archive, directory, within)),
    keys: runSpec.vars['encryption_at_rest'] ? [ENCRYPTION] : [],
    scratch: scratchIn(SCRATCH_DIR),
    signal,
    etcdImage,
  };
}

/** The file with the key of encryption at rest. Other files that API servers share are made of the spec. */
const ENCRYPTION = 'matryoshka/encryption.yaml';
const scratchIn = (directory: string): string => `${directory}/snapshot`;

/** Saves a snapshot of the run's cluster, if the run spec asks for it. */
export async function saveSnapshot(
  settings: Settings,
  connections: ReadonlyMap<string, Pick<SshConnection, 'run'>>,
  signal: AbortSignal,
  progress: Progress,
): Promise<SnapshotReport | undefined> {
  const { snapshot, cluster, hosts, run } = settings.runSpec;
  if (snapshot?.task !== 'save') return undefined;
  const { id, namespace, name } = cluster;
  const { etcdImage, ...from } = await opened(settings, signal);
  // Encryption and the test restore yield to everything else on the node; programs that are started do too.
  setPriority(constants.priority.PRIORITY_LOW);
  return save({
    ...from,
    ...progress,
    live: await liveEtcd(hosts, connections),
    info: { cluster: { id, namespace, name }, kubeVersion: versionOf(settings), etcdImage },
    sequence: run.sequence,
    keep: snapshot.keep,
    now: new Date(),
  });
}

/** Returns the settings with the variables of the snapshot that the run spec asks for; it is in the scratch directory. */
export async function withSnapshot(
  settings: Settings,
  signal: AbortSignal,
  { step, say }: Progress,
): Promise<Settings> {
  const { runSpec } = settings;
  if (runSpec.snapshot?.task !== 'load') return settings;
  const { name } = runSpec.snapshot;
  step(LOAD_STEP);
  const { etcdImage: _image, ...from } = await opened(settings, signal);
  const cluster = { id: runSpec.cluster.id, kubeVersion: versionOf(settings) };
  const { file, size, sha256, authorities } = await load({ ...from, name, cluster, say });
  const vars = {
    snapshot_name: name,
    snapshot_file: file,
    snapshot_size: size,
    snapshot_sha256: sha256,
    snapshot_authorities: authorities.toString('base64'),
  };
  return { ...settings, runSpec: { ...runSpec, vars: { ...runSpec.vars, ...vars } } };
}

/** Removes a loaded snapshot, which is not encrypted. */
export const removeLoaded = ({ SCRATCH_DIR }: Settings): Promise<void> =>
  rm(scratchIn(SCRATCH_DIR), { recursive: true, force: true });
