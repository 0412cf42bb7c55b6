import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from '../hosts/packages.ts';
import { cacheDir } from './places.ts';
import { announced, type Say } from './progress.ts';

const INSTALL_MS = 15 * 60_000;

/**
 * Returns the `bin` folder of a virtual environment with these packages of PyPI. It is created once and cached. Packages are
 * pinned by version, and the first one names the folder.
 * @example const bin = await pythonEnvironment(['mkdocs==1.6.1'], say);
 */
export async function pythonEnvironment(packages: readonly [string, ...string[]], say: Say): Promise<string> {
  const folder = join(cacheDir, `python-${packages[0]}`);
  const bin = join(folder, 'bin');
  const done = join(folder, 'installed');
  if (existsSync(done)) return bin;
  await ensurePackages({ python3: 'python3', pip3: 'python3-pip python3-venv' }, say);
  const options = { timeout: INSTALL_MS, stdin: 'ignore' } as const;
  await rm(folder, { recursive: true, force: true });
  await announced(say, `pip install ${packages[0]}`, async () => {
    await execa('python3', ['-m', 'venv', folder], options);
    await execa(join(bin, 'python3'), ['-m', 'pip', 'install', '--quiet', ...packages], options);
  });
  await writeFile(done, '');
  return bin;
}
