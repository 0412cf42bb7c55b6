import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { goToolchain } from '../artifacts/go.ts';
import { cacheDir } from '../artifacts/places.ts';
import { announced, type Say } from '../artifacts/progress.ts';
import { ensurePackages } from '../hosts/packages.ts';

/** Clients of gRPC that others use, of versions that are pinned here and in go.mod; each is installed once. */
const GRPCURL = { module: 'github.com/fullstorydev/grpcurl/cmd/grpcurl', version: '1.9.4' };
const PYTHON_PACKAGES = ['grpcio==1.85.1', 'grpcio-tools==1.85.1', 'protobuf==7.36.2'] as const;
const INSTALL_MS = 15 * 60_000;

/** The path of grpcurl. */
export async function grpcurl(say: Say): Promise<string> {
  const binary = join(cacheDir, 'bin', `grpcurl-${GRPCURL.version}`);
  if (existsSync(binary)) return binary;
  const go = await goToolchain();
  await announced(say, 'go build grpcurl', () =>
    execa(go, ['build', '-o', binary, GRPCURL.module], {
      cwd: import.meta.dirname,
      env: { GOTOOLCHAIN: 'auto', CGO_ENABLED: '0' },
      timeout: INSTALL_MS,
      stdin: 'ignore',
    }),
  );
  return binary;
}

/** The path of a Python that has gRPC and its compiler of .proto files. */
export async function pythonWithGrpc(say: Say): Promise<string> {
  const folder = join(cacheDir, `python-${PYTHON_PACKAGES[0]}`);
  const python = join(folder, 'bin/python3');
  const done = join(folder, 'installed');
  if (existsSync(done)) return python;
  await ensurePackages({ python3: 'python3', pip3: 'python3-pip python3-venv' }, say);
  const options = { timeout: INSTALL_MS, stdin: 'ignore' } as const;
  await rm(folder, { recursive: true, force: true });
  await announced(say, 'pip install grpcio', async () => {
    await execa('python3', ['-m', 'venv', folder], options);
    await execa(python, ['-m', 'pip', 'install', '--quiet', ...PYTHON_PACKAGES], options);
  });
  await writeFile(done, '');
  return python;
}
