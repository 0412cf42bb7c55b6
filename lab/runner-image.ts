import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from './artifacts/progress.ts';
import { giveAuthority } from './hosts/authority.ts';
import { buildImage } from './hosts/image.ts';

const root = join(import.meta.dirname, '..');

/** Builds the runner image from the checkout and its bundle, and returns its tag. */
export async function runnerImage(dist: string, say: Say): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), 'matryoshka-runner-'));
  try {
    for (const part of ['deploy', 'ansible'])
      await cp(join(root, part), join(context, part), { recursive: true });
    await cp(dist, join(context, 'dist'), { recursive: true });
    await giveAuthority(context);
    return await buildImage('matryoshka-runner:lab', context, say, {
      dockerfile: join(context, 'deploy', 'runner.Dockerfile'),
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
