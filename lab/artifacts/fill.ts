import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { formatSums, SUMS_FILE } from '#artifacts/catalogue.ts';
import { type Entry, layout } from '#artifacts/layout.ts';
import { type Release, releases } from '#artifacts/releases.ts';
import { ensureDocker } from '../hosts/daemon.ts';
import { ensurePackages } from '../hosts/packages.ts';
import { sha256OfFile } from './hash.ts';
import { labReleases } from './lab-releases.ts';
import { downloadFrom, type Released, releasedFiles } from './mirror.ts';
import { announced, type Say } from './progress.ts';
import { type Recipe, recipeFor } from './recipes.ts';

/** Record of the directory: path → stamp of the inputs, and sum of the result. */
const Made = z.record(z.string(), z.object({ stamp: z.string(), sha256: z.string() }));

/**
 * Fills a directory with every file of the lab's releases, in upstream's layout. It also writes their sums. A file from the
 * same inputs stays, and so do the files of other releases. A file that is pinned comes from the mirror, if there is one.
 * The others are built from source.
 */
export async function fillArtifacts(
  dir: string,
  say: Say,
  mirror: string | undefined = process.env['MIRROR'] || undefined,
): Promise<void> {
  const stateFile = join(dir, '.made.json');
  await mkdir(dir, { recursive: true });
  const made = Made.parse(JSON.parse(await readFile(stateFile, 'utf8').catch(() => '{}')));
  const entries = entriesOf(labReleases);
  const missing: { entry: Entry; recipe: Recipe; stamp: string }[] = [];
  for (const entry of entries) {
    const recipe = recipeFor(entry);
    const stamp = await recipe.stamp();
    if (made[entry.path]?.stamp !== stamp || !existsSync(join(dir, entry.path)))
      missing.push({ entry, recipe, stamp });
  }
  const pinned = missing.flatMap(({ entry: { path }, stamp }) => {
    const pin = releasedFiles[path];
    return pin?.stamp === stamp ? [[path, pin] as const] : [];
  });
  const arrived = new Set<string>();
  if (mirror !== undefined && pinned.length > 0) {
    for (const [path, { stamp, sha256 }] of await downloadFrom(mirror, pinned, dir, say)) {
      made[path] = { stamp, sha256 };
      arrived.add(path);
    }
    await writeFile(stateFile, JSON.stringify(made, null, 1));
  }
  const toBuild = missing.filter(({ entry }) => !arrived.has(entry.path));
  if (toBuild.length > 0) {
    // runc needs a compiler, and the tools in kube-proxy's image need Docker. Each is installed only if it is missing.
    const header = existsSync('/usr/include/seccomp.h') ? {} : { 'seccomp.h': 'libseccomp-dev' };
    await ensurePackages({ gcc: 'gcc libc6-dev', 'pkg-config': 'pkg-config', ...header }, say);
    await ensureDocker(say);
  }
  for (const { entry, recipe, stamp } of toBuild) {
    const out = join(dir, entry.path);
    await mkdir(dirname(out), { recursive: true });
    const part = `${out}.part`;
    await announced(say, entry.path, () => recipe.make(part, say));
    made[entry.path] = { stamp, sha256: await sha256OfFile(part) };
    await rename(part, out);
    await writeFile(stateFile, JSON.stringify(made, null, 1));
  }
  const known = new Set(entriesOf(releases).map(({ path }) => path));
  for (const path of Object.keys(made).filter((one) => !known.has(one))) {
    await rm(join(dir, path), { force: true });
    delete made[path];
  }
  // An installation offers the releases that the sums cover.
  const sums = formatSums(
    new Map(entries.flatMap(({ path }) => (made[path] ? [[path, made[path].sha256]] : []))),
  );
  const sumsPath = join(dir, SUMS_FILE);
  if ((await readFile(sumsPath, 'utf8').catch(() => '')) !== sums) {
    await writeFile(`${sumsPath}.part`, sums);
    await rename(`${sumsPath}.part`, sumsPath);
  }
  await writeFile(stateFile, JSON.stringify(made, null, 1));
}

/** Pins the files of a directory as they are, so that a mirror of the directory saves others the builds. */
export async function pinArtifacts(dir: string): Promise<void> {
  const made = Made.parse(JSON.parse(await readFile(join(dir, '.made.json'), 'utf8')));
  const pins: Released = {};
  for (const [path, { stamp, sha256 }] of Object.entries(made).sort(([one], [other]) =>
    one.localeCompare(other),
  ))
    pins[path] = { stamp, sha256, bytes: (await stat(join(dir, path))).size };
  await writeFile(join(import.meta.dirname, 'released.json'), `${JSON.stringify(pins, null, 2)}\n`);
}

/** Lists the files of these releases; some are the same for several. */
const entriesOf = (these: readonly Release[]): Entry[] => [
  ...new Map(these.flatMap((release) => layout(release)).map((entry) => [entry.path, entry])).values(),
];
