import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { type Check, fine } from './check.ts';
import { scriptOf } from './script.ts';

it('runs a check that waits for other hosts in parallel to the rest', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'script-'));
  const pipe = join(folder, 'pipe');
  await execa('mkfifo', [pipe]);
  const check = { good: '', check: () => fine };
  const waiting: Check = {
    ...check,
    name: 'waiting',
    waits: true,
    script: () => `read -r word < ${pipe}; say got "$word"`,
  };
  const other: Check = { ...check, name: 'other', script: () => `echo it > ${pipe}` };
  const input = scriptOf([waiting, other], {});
  const { stdout, exitCode } = await execa('/bin/sh', ['-s'], { input, timeout: 20_000, reject: false });
  await rm(folder, { recursive: true });
  expect([exitCode, stdout]).toEqual([0, '@got it']);
});
