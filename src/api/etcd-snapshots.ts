import { z } from 'zod';

/** Snapshots of a cluster's etcd: where they are stored, when they are taken, and which are kept. */

/** The number of snapshots that stay without `keep`. */
export const KEPT_SNAPSHOTS = 7;
const MAX_KEPT = 1000;
/** Most snapshots that status lists, the newest. */
export const MAX_LISTED_SNAPSHOTS = 100;

const kept = (description: string) => z.int().min(0).max(MAX_KEPT).optional().meta({ description });

export const keepSchema = z.object({
  last: kept('Number of newest snapshots; default 7, or 0 if another number is given.'),
  hourly: kept('Number of hours of which the newest snapshot stays.'),
  daily: kept('Number of days of which the newest snapshot stays.'),
  weekly: kept('Number of weeks of which the newest snapshot stays.'),
});
export type Keep = z.infer<typeof keepSchema>;

/** A name of a snapshot: the time in UTC, and the sequence of the operation that saved it. */
export const SNAPSHOT_NAME = /^[0-9]{8}t[0-9]{6}z-[0-9]{1,10}$/;
export const snapshotNameSchema = z.string().max(40).regex(SNAPSHOT_NAME, {
  error: 'is not a name of a snapshot; status.etcdSnapshots lists them, such as 20261129t020000z-7',
});

/** Returns the time in a snapshot's name. */
export const snapshotTime = (name: string): Date =>
  new Date(name.replace(/^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)z.*$/, '$1-$2-$3T$4:$5:$6Z'));

export const etcdSnapshotsSchema = z.object({
  secret: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, { error: 'is not a name of a Secret' })
    .optional()
    .meta({
      description:
        'Secret of this namespace with age-identity, and endpoint, bucket, access-key-id and secret-access-key of S3-compatible storage; default: <name>-snapshots, and the volume of the installation.',
    }),
  schedule: z.string().max(100).optional().meta({
    description: 'When snapshots are taken, in cron format and UTC, such as "0 3 * * *"; default: never.',
  }),
  keep: keepSchema.optional().meta({ description: 'Which snapshots stay; the others are removed.' }),
});

/** A stored snapshot, as status lists it. */
export interface StoredSnapshot {
  name: string;
  createdAt: string;
  size: number;
}
