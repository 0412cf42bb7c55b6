import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { progressOf } from './progress.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'matryoshka-progress-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('remembers the steps that an earlier run completed on the same cluster', async () => {
  const path = join(dir, 'new', 'progress.json');
  const first = await progressOf('uid-1', path);
  expect(first.has('made')).toBe(false);
  await first.add('made');
  await (await progressOf('uid-1', path)).add('scaled');
  const third = await progressOf('uid-1', path);
  expect([third.has('made'), third.has('scaled'), third.has('moved')]).toEqual([true, true, false]);
});

it('starts again for another cluster of the same name', async () => {
  const path = join(dir, 'progress.json');
  await (await progressOf('uid-1', path)).add('made');
  await (await progressOf('uid-2', path)).add('scaled');
  expect((await progressOf('uid-2', path)).has('made')).toBe(false);
  expect((await progressOf('uid-1', path)).has('made')).toBe(false);
});
