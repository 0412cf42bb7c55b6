import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { debianLayer, layerStamp } from '../artifacts/debian-layer.ts';
import { binariesDir } from '../artifacts/places.ts';
import { type Say, sayOnStderr } from '../artifacts/progress.ts';
import { ensureDocker } from '../hosts/daemon.ts';

/**
 * Returns the path of the HAProxy of our images. It runs on any Debian, with the libraries of its layer. If it is missing,
 * it is built, which takes minutes.
 */
export async function haproxyProgram(say: Say = sayOnStderr): Promise<string> {
  const folder = join(binariesDir, `haproxy-${await layerStamp('haproxy')}`);
  const program = join(folder, 'haproxy');
  if (existsSync(program)) return program;
  await ensureDocker(say);
  const layer = await debianLayer('haproxy', say);
  const aside = `${folder}.${process.pid}`;
  await mkdir(aside, { recursive: true });
  await execa('tar', ['-xf', layer, '-C', aside], { timeout: 60_000 });
  // At each reload the master starts itself again by its name.
  const run = [
    `'${folder}/usr/lib64/ld-linux-x86-64.so.2' --library-path '${folder}/usr/lib/x86_64-linux-gnu'`,
    `--argv0 '${program}' '${folder}/usr/local/sbin/haproxy' "$@"`,
  ].join(' ');
  await writeFile(join(aside, 'haproxy'), `#!/bin/sh\nexec ${run}\n`);
  await chmod(join(aside, 'haproxy'), 0o755);
  await rename(aside, folder).catch(async (error: unknown) => {
    await rm(aside, { recursive: true });
    if (!existsSync(program)) throw error;
  });
  return program;
}
