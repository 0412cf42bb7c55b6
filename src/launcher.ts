import { statSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/** Starts the bundled program. Node keeps its compiled form in the user's cache directory, so that later starts are faster. */
const { HOME: home, XDG_CACHE_HOME: caches } = process.env;

/** Whether the home directory is that of the user who runs this: compiled code of another user must not run, as with `sudo`. */
function isOwn(path: string): boolean {
  try {
    return statSync(path).uid === process.getuid?.();
  } catch {
    return false;
  }
}
// Source: XDG Base Directory Specification; nodejs.org, Module compile cache. Without a directory that can be written, there is
// no cache.
if (home && isOwn(home)) enableCompileCache(join(caches || join(home, '.cache'), 'matryoshka/compiled'));

await import('./main.ts');
