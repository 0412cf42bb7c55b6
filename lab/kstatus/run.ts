import { join } from 'node:path';
import { execa } from 'execa';
import { goToolchain } from '../artifacts/go.ts';
import { cacheDir } from '../artifacts/places.ts';
import { announced, type Say } from '../artifacts/progress.ts';

const BUILD_MS = 15 * 60_000;

/** Returns the status of each object by kstatus (sigs.k8s.io/cli-utils): `Current`, `InProgress`, `Failed`, … */
export async function kstatusOf(objects: readonly unknown[], say: Say): Promise<string[]> {
  const binary = join(cacheDir, 'bin', 'lab-kstatus');
  const go = await goToolchain();
  const build = () =>
    execa(go, ['build', '-o', binary, '.'], {
      cwd: import.meta.dirname,
      env: { GOTOOLCHAIN: 'auto', CGO_ENABLED: '0' },
      timeout: BUILD_MS,
      stdin: 'ignore',
    });
  await announced(say, 'go build lab/kstatus', build);
  const input = objects.map((object) => `${JSON.stringify(object)}\n`).join('');
  const { stdout } = await execa(binary, { input });
  return stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
}
