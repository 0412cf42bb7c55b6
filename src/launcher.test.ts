import { chmod, chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, it } from 'vitest';

const LAUNCHER = join(import.meta.dirname, 'launcher.ts');
const OTHER_USER = 65534;
let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'home-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const help = (env: Record<string, string> = {}) =>
  execa(process.execPath, [LAUNCHER, '--help'], { env: { HOME: home, ...env }, extendEnv: false }).then(
    ({ stdout }) => stdout,
  );

it('keeps compiled code in the cache directory of the user', async () => {
  expect(await help()).toContain('Usage: matryoshka');
  expect(await readdir(join(home, '.cache/matryoshka/compiled'))).toHaveLength(1);
});

it.runIf(process.getuid?.() === 0)('neither reads nor writes the cache of another user', async () => {
  await chown(home, OTHER_USER, OTHER_USER);
  expect(await help()).toContain('Usage: matryoshka');
  expect(await readdir(home)).toEqual([]);
});

it.runIf(process.getuid?.() === 0)('does not use a directory that another user has made there', async () => {
  const chosen = join(home, 'chosen');
  const theirs = join(chosen, 'matryoshka/compiled');
  await mkdir(theirs, { recursive: true });
  await chown(theirs, OTHER_USER, OTHER_USER);
  await help({ XDG_CACHE_HOME: chosen });
  expect(await readdir(theirs)).toEqual([]);
  await chown(theirs, 0, 0);
  await chmod(theirs, 0o777);
  await help({ XDG_CACHE_HOME: chosen });
  expect(await readdir(theirs)).toEqual([]);
  await chmod(theirs, 0o700);
  await help({ XDG_CACHE_HOME: chosen });
  expect(await readdir(theirs)).toHaveLength(1);
});
