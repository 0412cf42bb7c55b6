import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '#base/canonical.ts';

/** A hash of a recipe and of the files in the folders that it reads: equal stamp, equal result. */
export async function stampOf(recipe: unknown, folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(canonicalJson(recipe));
  for (const folder of folders) {
    const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
    for (const { name } of names.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      hash.update(`\0${name}\0`).update(await readFile(join(folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
