import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';

/** Copies the working tree, uncommitted changes included, so that the copy can be broken. */
export async function copyOfTree(root: string): Promise<AsyncDisposable & { dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'matryoshka-mutants-'));
  const { stdout } = await execa('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
  });
  for (const file of stdout.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    await mkdir(join(dir, dirname(file)), { recursive: true });
    await cp(join(root, file), join(dir, file));
  }
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'));
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}
