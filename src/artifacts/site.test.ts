import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { offerOf } from './site.ts';

it('offers the newest release first, in whatever order the file has them', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'site-'));
  const releases = { 'v1.34.10': {}, 'v1.34.4': {}, 'v1.35.4': {} };
  await writeFile(join(directory, 'artifacts.json'), JSON.stringify({ baseUrl: 'http://x', releases }));
  expect(offerOf(directory).versions).toEqual(['v1.35.4', 'v1.34.10', 'v1.34.4']);
  await rm(directory, { recursive: true });
});
