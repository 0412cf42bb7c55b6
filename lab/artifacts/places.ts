import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where everything that is built once and kept lives: outside of the checkout, so that a fresh clone finds it. */
export const cacheDir = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'matryoshka');

/** The directory that stands for the upstream sites: one path an artifact, its URL without the scheme. */
export const artifactsDir = process.env['MATRYOSHKA_ARTIFACTS'] ?? join(cacheDir, 'artifacts');

/** Binaries as the Go linker left them, by component and stamp. */
export const binariesDir = join(cacheDir, 'bin');

/** The folder of our Go modules, one a component. */
export const modulesDir = import.meta.dirname;
