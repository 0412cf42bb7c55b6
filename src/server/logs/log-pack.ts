import { CONFIG_MAPS, type ConfigMap } from '#api/core.ts';
import { internalAnnotations, labels, logHeadName, logPartName } from '#api/names.ts';
import type { Client } from '#runtime/client/client.ts';
import { isAlreadyExists, isNotFound } from '#runtime/wire/api-error.ts';
import { ownedBy, packOf, packsIn, partOf } from './log-part.ts';

/** Most text of one pack; gzipped it has some 300 KiB. */
const PACK_BYTES = 4 * 1024 * 1024;
/** A log with fewer parts is not packed. */
const WORTHWHILE = 3;

/** Joins the texts into few long ones, without splitting any. */
export function gathered(texts: readonly string[], most: number): string[] {
  const out: string[] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text);
    const isNew = size + bytes > most;
    if (isNew) out.push(text);
    else out.push(`${out.pop() ?? ''}${text}`);
    size = isNew ? bytes : size + bytes;
  }
  return out;
}

/**
 * Replaces an attempt's parts by packs: writes the packs, then the annotation on the head, then deletes the parts. If it is
 * interrupted at any point, the log stays readable, and is removed with its head.
 */
export async function packLog(client: Client, namespace: string, job: string): Promise<void> {
  const key = { namespace, name: logHeadName(job) };
  const head = await client.find<ConfigMap>(CONFIG_MAPS, key);
  if (!head) return;
  const prefix = logPartName(job, 0).slice(0, -1);
  const labelSelector = `${labels.purpose}=log-part,${labels.job}=${job}`;
  const { items } = await client.list<ConfigMap>(CONFIG_MAPS, { namespace, labelSelector });
  const parts = items
    .flatMap((map) => {
      const number = Number(map.metadata.name?.slice(prefix.length));
      return Number.isInteger(number) ? [partOf(map, number)] : [];
    })
    .sort((a, b) => a.number - b.number);
  const isPacked = packsIn(head).length > 0;
  if (!isPacked && parts.length < WORTHWHILE) return;
  if (!isPacked) {
    const starts: number[] = [];
    let offset = 0;
    for (const [number, text] of gathered(
      parts.map(({ text }) => text),
      PACK_BYTES,
    ).entries()) {
      starts.push(offset);
      offset += Buffer.byteLength(text);
      await client
        .create<ConfigMap>(CONFIG_MAPS, packOf(job, namespace, number, text, ownedBy(head)))
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
    }
    const annotations = {
      [internalAnnotations.packed]: starts.join(','),
      [internalAnnotations.bytes]: String(offset),
    };
    await client.patch(CONFIG_MAPS, key, { metadata: { annotations } }, { type: 'merge' });
  }
  for (const { number } of parts)
    await client
      .delete(CONFIG_MAPS, { namespace, name: logPartName(job, number) })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
}
