import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');

/** Builds the web page: one script and one style sheet, for browsers of 2024 and later. */
export async function buildPage(directory: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'dashboard/main.tsx')],
    outdir: directory,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2024',
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    logLevel: 'warning',
  });
  copyFileSync(join(root, 'dashboard/index.html'), join(directory, 'index.html'));
}
