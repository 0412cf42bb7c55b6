import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { goToolchain } from '../artifacts/go.ts';
import { cacheDir } from '../artifacts/places.ts';
import { announced, type Say } from '../artifacts/progress.ts';

/** Version of Helm, pinned here and in go.mod. */
const HELM = { module: 'helm.sh/helm/v3/cmd/helm', version: '3.22.0' };
const INSTALL_MS = 15 * 60_000;

/** Returns the path of Helm, which is built once. */
export async function helm(say: Say): Promise<string> {
  const binary = join(cacheDir, 'bin', `helm-${HELM.version}`);
  if (existsSync(binary)) return binary;
  const go = await goToolchain();
  await announced(say, 'go build helm', () =>
    execa(go, ['build', '-trimpath', '-ldflags', '-s -w', '-o', binary, HELM.module], {
      cwd: import.meta.dirname,
      env: { GOTOOLCHAIN: 'auto', CGO_ENABLED: '0' },
      timeout: INSTALL_MS,
      stdin: 'ignore',
    }),
  );
  return binary;
}
