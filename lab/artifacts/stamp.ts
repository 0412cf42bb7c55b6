import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { canonicalJson } from '#base/canonical.ts';

/** Returns a hash of a recipe and of all files below its folders. An equal stamp means an equal result. */
export async function stampOf(recipe: unknown, folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(canonicalJson(recipe));
  for (const folder of folders) {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true });
    const names = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
    for (const name of names.sort()) {
      hash.update(`\0${name}\0`).update(await readFile(join(folder, name)));
    }
  }
  return hash.digest('hex').slice(0, 16);
}
