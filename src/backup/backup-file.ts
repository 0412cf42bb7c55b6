import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { messageOf } from '#base/errors.ts';
import { opened, sealedFor } from '#snapshots/seal.ts';

const metadataSchema = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  uid: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
  finalizers: z.array(z.string()).optional(),
  deletionTimestamp: z.string().optional(),
  ownerReferences: z
    .array(z.looseObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() }))
    .optional(),
});
/** An object of the backup. What is in it is for the API server to judge, which has the schemas. */
const objectSchema = z.looseObject({ metadata: metadataSchema });
export type SavedObject = z.infer<typeof objectSchema>;
const objects = z.array(objectSchema);

const contentSchema = z.object({
  format: z.literal(1),
  createdAt: z.iso.datetime(),
  operatorNamespace: z.string(),
  clusters: objects,
  hosts: objects,
  states: objects,
  secrets: objects,
  configMaps: objects,
});
export type Backup = z.infer<typeof contentSchema>;
/** A backup to be written; the schema checks it again when it is read. */
export type BackupContent = {
  readonly [K in keyof Backup]: Backup[K] extends SavedObject[] ? readonly object[] : Backup[K];
};

/** Writes the backup encrypted for a recipient (`age1…`), completely or not at all, readable for its owner only. */
export async function writeBackup(path: string, content: BackupContent, recipient: string): Promise<number> {
  const checked = contentSchema.parse(content);
  const text = Readable.from([Buffer.from(JSON.stringify(checked))]);
  const bytes = await buffer(await sealedFor(text, recipient));
  const part = `${path}.part`;
  try {
    await writeFile(part, bytes, { mode: 0o600, flush: true });
    await chmod(part, 0o600);
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw new Error(`${path} cannot be written: ${messageOf(error)}`, { cause: error });
  }
  return bytes.length;
}

/** Reads a backup. Rejects if the identity does not open it, or any byte is not what was written. */
export async function readBackup(path: string, identity: string): Promise<Backup> {
  const bytes = await readFile(path);
  let text: string;
  try {
    text = (await buffer(await opened(Readable.from([bytes]), identity))).toString('utf8');
  } catch (error) {
    throw new Error(`${path} is not usable: ${messageOf(error)}`, { cause: error });
  }
  const parsed = contentSchema.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Error(`${path} is no backup of this version: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
