import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from './artifacts/progress.ts';
import { giveAuthority } from './hosts/authority.ts';
import { buildImage } from './hosts/image.ts';

const root = join(import.meta.dirname, '..');

/** Builds the runner image from the checkout; answers its tag. */
export async function runnerImage(say: Say): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), 'matryoshka-runner-'));
  try {
    for (const part of ['deploy', 'ansible', 'dist']) {
      if (existsSync(join(root, part))) await cp(join(root, part), join(context, part), { recursive: true });
      else await mkdir(join(context, part));
    }
    await giveAuthority(context);
    return await buildImage('matryoshka-runner:lab', context, say, {
      dockerfile: join(context, 'deploy', 'runner.Dockerfile'),
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
