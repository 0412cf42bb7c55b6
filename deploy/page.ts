import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';

const root = join(import.meta.dirname, '..');

/** Builds the web page: one script and one style sheet, for browsers of 2024 and later. Returns what they are made of. */
export async function buildPage(directory: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    metafile: true,
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
  return metafile;
}
