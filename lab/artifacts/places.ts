import { homedir } from 'node:os';
import { join } from 'node:path';

/** Folder of everything that is built once and kept. It is outside the checkout, so that a new clone finds it. */
export const cacheDir = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'matryoshka');

/** Directory that replaces the upstream sites. The path of an artifact is its URL without the scheme. */
export const artifactsDir = process.env['MATRYOSHKA_ARTIFACTS'] ?? join(cacheDir, 'artifacts');

/** Binaries as the Go linker wrote them, by component and stamp. */
export const binariesDir = join(cacheDir, 'bin');

/** Folder of our Go modules, one for each component. */
export const modulesDir = import.meta.dirname;
