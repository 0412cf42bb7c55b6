import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { announced, type Say } from './artifacts/progress.ts';
import { buildImage } from './hosts/image.ts';
import { runnerImage } from './runner-image.ts';

const root = join(import.meta.dirname, '..');
/** Files that the image has beside the program. */
const BESIDE = ['node', 'package.json', 'static', 'page', 'proto', 'host'];
const BUNDLE_TIMEOUT_MS = 120_000;

/** Builds both of our images from the checkout, and returns their tags. Unchanged sources build nothing. */
export async function operatorImages(say: Say): Promise<{ operator: string; runner: string }> {
  // Each call has a separate folder, because concurrent tests build the same images.
  const folder = await mkdtemp(join(tmpdir(), 'matryoshka-operator-'));
  const [dist, context] = [join(folder, 'dist'), join(folder, 'context')];
  try {
    await announced(say, 'bundle', () =>
      execa(process.execPath, [join(root, 'deploy/bundle.ts'), dist], {
        timeout: BUNDLE_TIMEOUT_MS,
        stdin: 'ignore',
      }),
    );
    const parts = (await readdir(dist)).filter((name) => name.startsWith('matryoshka'));
    for (const part of [...parts, ...BESIDE]) {
      await cp(join(dist, part), join(context, 'dist', part), { recursive: true });
    }
    await cp(join(root, 'deploy/operator.Dockerfile'), join(context, 'Dockerfile'));
    const operator = await buildImage('matryoshka-operator:lab', context, say);
    return { operator, runner: await runnerImage(dist, say) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
