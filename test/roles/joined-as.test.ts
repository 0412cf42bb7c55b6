import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostFolder, runRoleScript } from './role-script.fixture.ts';

let root = '';
beforeEach(async () => {
  root = await hostFolder();
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Exit code of the fence, which proves that it was called. */
const ASKED = 7;
const take = async (joined: string) => {
  await writeFile(join(root, 'etc/matryoshka/joined'), joined);
  const env = {
    FENCE: `#!/bin/sh\nexit ${ASKED}`,
    RUN: 'mine 2 1 pod',
    OPTIONS: '',
    NAME: 'w1',
    IP: '10.0.0.2',
  };
  return runRoleScript(root, { role: 'fence', script: 'take.sh', env });
};

it.each([
  ['the same host', 'mine w1 10.0.0.2\n'],
  ['a host that joined before names were written', 'mine\n'],
  ['a host of another cluster, which its owner file rules', 'other w9 10.0.0.9\n'],
])('asks the fence for %s', async (_what, joined) => {
  expect((await take(joined)).exitCode).toBe(ASKED);
});

it.each([
  ['another address', 'mine w1 10.0.0.22\n'],
  ['another name', 'mine w2 10.0.0.2\n'],
])('refuses a machine that joined under %s', async (_what, joined) => {
  const { exitCode, stderr } = await take(joined);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^HostConflict: .* is node w\d at 10\.0\.0\.2+ of this cluster.* node w1 at 10\.0\.0\.2\./,
  );
});
