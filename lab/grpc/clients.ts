import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { goToolchain } from '../artifacts/go.ts';
import { cacheDir } from '../artifacts/places.ts';
import { announced, type Say } from '../artifacts/progress.ts';
import { pythonEnvironment } from '../artifacts/python.ts';

/** gRPC clients of other projects, with versions pinned here and in go.mod. Each is installed once. */
const GRPCURL = { module: 'github.com/fullstorydev/grpcurl/cmd/grpcurl', version: '1.9.4' };
const PYTHON_PACKAGES = ['grpcio==1.85.1', 'grpcio-tools==1.85.1', 'protobuf==7.36.2'] as const;
const INSTALL_MS = 15 * 60_000;

/** Returns the path of grpcurl. */
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

/** Returns the path of a Python that has gRPC and its compiler of .proto files. */
export const pythonWithGrpc = async (say: Say): Promise<string> =>
  join(await pythonEnvironment(PYTHON_PACKAGES, say), 'python3');
