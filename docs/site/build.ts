import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { execa } from 'execa';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { pythonEnvironment } from '#lab/artifacts/python.ts';

/**
 * Builds the documentation site with MkDocs: `node docs/site/build.ts [FOLDER]`. Without a folder it only checks the pages.
 * A link to a page or heading that does not exist, and a page that the navigation leaves out, fail the build.
 */

const PACKAGES = ['mkdocs-material==9.8.2', 'mkdocs==1.6.1'] as const;
const root = join(import.meta.dirname, '../..');
const BUILD_MS = 120_000;

const [target] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'matryoshka-docs-'));
try {
  // MkDocs wants all pages below one folder, and ours stand beside what they describe.
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await execa('git', [...listed, '*.md', 'docs/images', 'deploy/examples', 'LICENSE'], {
    cwd: root,
  });
  for (const path of stdout.split('\n').filter((file) => existsSync(join(root, file)))) {
    const copy = join(folder, 'pages', path);
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(join(root, path), copy);
  }
  await copyFile(join(import.meta.dirname, 'mkdocs.yml'), join(folder, 'mkdocs.yml'));
  const bin = await pythonEnvironment(PACKAGES, sayOnStderr);
  const { exitCode, all } = await execa(join(bin, 'mkdocs'), ['build', '--strict'], {
    cwd: folder,
    stdin: 'ignore',
    all: true,
    timeout: BUILD_MS,
    reject: false,
  });
  const problems = all.split('\n').filter((line) => !line.startsWith('INFO'));
  if (exitCode !== 0) process.stderr.write(`${problems.join('\n')}\n`);
  if (target !== undefined && exitCode === 0)
    await cp(join(folder, 'site'), resolve(target), { recursive: true });
  process.exitCode = exitCode ?? 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
