import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from './artifacts/progress.ts';
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
    // Where the way to the package registry ends in an authority of its own, the build must know it.
    const authority = process.env['SSL_CERT_FILE'];
    if (authority !== undefined && existsSync(authority)) await cp(authority, join(context, 'ca.crt'));
    return await buildImage('matryoshka-runner:lab', context, say, {
      dockerfile: join(context, 'deploy', 'runner.Dockerfile'),
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
