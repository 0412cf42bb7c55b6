import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { isAbsolute, join } from 'node:path';

/** Starts the bundled program. Node keeps its compiled form in the user's cache directory, so that later starts are faster. */
const { HOME: home = '', XDG_CACHE_HOME: chosen = '' } = process.env;
/** Permission bits by which another user could write. */
const OF_OTHERS = 0o022;

/** Whether only the user of this process can write to a directory. With `sudo`, the home directory is another user's. */
function isOwn(path: string): boolean {
  const { uid, mode } = lstatSync(path);
  return uid === process.getuid?.() && (mode & OF_OTHERS) === 0;
}

/** Makes the directory (XDG Base Directory Specification); undefined: there is none that only this user writes to. */
function ownCache(): string | undefined {
  const isChosen = isAbsolute(chosen);
  const caches = isChosen ? chosen : join(home, '.cache');
  const directory = join(caches, 'matryoshka/compiled');
  try {
    if (!isAbsolute(caches) || !isOwn(isChosen ? chosen : home)) return undefined;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return [caches, join(caches, 'matryoshka'), directory].every(isOwn) ? directory : undefined;
  } catch {
    return undefined;
  }
}

const directory = ownCache();
// Source: nodejs.org, Module compile cache. An older Node has none, and the bundle refuses to run in it.
if (directory !== undefined) module.enableCompileCache?.(directory);

await import('./main.ts');
