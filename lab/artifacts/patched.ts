import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from '../hosts/packages.ts';
import { sayOnStderr } from './progress.ts';

const STEP_MS = 5 * 60_000;

/** Lists the `*.patch` files of a component's folder, in order. */
async function patchesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.patch')).sort();
}

/**
 * Runs an action on a copy of a component's Go module, in which its patches are applied to module `upstream`. Without
 * patches, it runs on the folder itself. The copy is deleted afterwards. The module cache stays unchanged, because Go does
 * not accept an overlay of it. Go writes the path of a replaced module into the program, so that path is relative: two
 * builds make the same bytes.
 */
export async function withPatches<T>(
  go: string,
  folder: string,
  upstream: string | undefined,
  act: (module: string) => Promise<T>,
): Promise<T> {
  if (upstream === undefined) return act(folder);
  await ensurePackages({ patch: 'patch' }, sayOnStderr);
  const work = await mkdtemp(join(tmpdir(), 'matryoshka-patched-'));
  const options = { cwd: folder, stdin: 'ignore', timeout: STEP_MS } as const;
  try {
    await execa(go, ['mod', 'download', upstream], options);
    const { stdout: found } = await execa(go, ['list', '-m', '-f', '{{.Dir}}', upstream], options);
    const source = join(work, 'source');
    await cp(found, source, { recursive: true });
    // The module cache is read-only, and so is its copy.
    await execa('chmod', ['-R', 'u+w', source], options);
    // A patch that applies only with an offset was written for another version.
    for (const patch of await patchesIn(folder)) {
      const { stdout } = await execa('patch', ['-p1', '--fuzz=0', '--batch', '-i', join(folder, patch)], {
        ...options,
        cwd: source,
      });
      // The patch was written for another version, and a developer must check that it is still right.
      if (/offset/.test(stdout)) throw new Error(`${patch} does not fit ${upstream} any more: ${stdout}`);
    }
    await cp(folder, work, { recursive: true });
    await execa(go, ['mod', 'edit', `-replace=${upstream}=./source`], { ...options, cwd: work });
    return await act(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
