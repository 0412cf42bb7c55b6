import { z } from 'zod';
import { keepSchema, MAX_LISTED_SNAPSHOTS, snapshotNameSchema } from '#api/etcd-snapshots.ts';

/** The work of a run with snapshots of etcd. */
export const snapshotTaskSchema = z.discriminatedUnion('task', [
  z.object({ task: z.literal('save'), keep: keepSchema }),
  z.object({ task: z.literal('load'), name: snapshotNameSchema }),
]);
export type SnapshotTask = z.infer<typeof snapshotTaskSchema>;

/** Where the snapshots of one cluster are stored. */
export const snapshotStorageSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('s3'),
    endpoint: z.url({ protocol: /^https?$/ }),
    bucket: z.string().min(1),
    region: z.string().min(1),
    prefix: z.string(),
    accessKeyId: z.string().min(1),
    secretAccessKey: z.string().min(1),
    /** Certificates of the authorities that the endpoint's certificate is from, in PEM; default: those of the system. */
    authorities: z.string().optional(),
  }),
  z.object({ kind: z.literal('directory'), path: z.string() }),
]);
export type SnapshotStorageConfig = z.infer<typeof snapshotStorageSchema>;

/** Key and storage of snapshots. Secret. */
export const snapshotAccessSchema = z.object({
  /** age identity (age-encryption.org/v1), which encrypts and decrypts. */
  identity: z.string(),
  storage: snapshotStorageSchema,
});
export type SnapshotAccess = z.infer<typeof snapshotAccessSchema>;

/** The file of the attempt's Secret with the snapshot access. */
export const SNAPSHOT_ACCESS_FILE = 'snapshots.json';

/** The volume of the installation in a Job, which has the files of its cluster only. */
export const SNAPSHOT_VOLUME = '/var/lib/matryoshka/snapshots';
/** Space on the disk of a Job for one snapshot. */
export const SCRATCH = '/var/lib/matryoshka/scratch';

const storedSnapshotSchema = z.object({
  name: snapshotNameSchema,
  createdAt: z.iso.datetime(),
  size: z.int().min(0),
});

/** The report of a run on snapshots. */
export const snapshotReportSchema = z.object({
  /** The snapshot that the run has saved. */
  saved: z
    .object({
      name: snapshotNameSchema,
      /** Size of etcd's data, in bytes. */
      size: z.int().min(0),
      revision: z.int().min(0),
      /** Whether its content had the hash of the live etcd; absent if etcd had compacted that revision meanwhile. */
      compared: z.boolean().optional(),
    })
    .optional(),
  /** The snapshots in the storage at the end, the newest first. */
  stored: z.array(storedSnapshotSchema).max(MAX_LISTED_SNAPSHOTS).default([]),
});
export type SnapshotReport = z.infer<typeof snapshotReportSchema>;
