import { spawn } from 'node:child_process';
import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '#base/clock.ts';
import { UsageError } from '#base/errors.ts';
import type { Say } from '../artifacts/progress.ts';
import { dockerOrUndefined } from './docker.ts';
import { ensurePackages } from './packages.ts';
import { labDir } from './places.ts';

const START_TIMEOUT_MS = 60_000;

/** Makes sure that a Docker daemon answers: installs and starts one if there is none and the user is permitted to. */
export async function ensureDocker(say: Say): Promise<void> {
  if (await answers()) return;
  await ensurePackages({ docker: 'docker.io', dockerd: 'docker.io' }, say);
  if (process.getuid?.() !== 0) throw new UsageError('no Docker daemon answers, and only root may start one');
  say('starting dockerd …');
  await mkdir(labDir, { recursive: true });
  const logPath = join(labDir, 'dockerd.log');
  const log = await open(logPath, 'a');
  // It outlives this process on purpose, like a daemon of the distribution. So execa, which would end it, does not start it.
  spawn('dockerd', [], { detached: true, stdio: ['ignore', log.fd, log.fd] }).unref();
  await log.close();
  const start = performance.now();
  while (!(await answers())) {
    if (performance.now() - start > START_TIMEOUT_MS)
      throw new Error(`dockerd does not answer; see ${logPath}`);
    await sleep(500);
  }
}

async function answers(): Promise<boolean> {
  return (
    (await dockerOrUndefined(['version', '--format', '{{.Server.Version}}'], 10_000).catch(
      () => undefined,
    )) !== undefined
  );
}
