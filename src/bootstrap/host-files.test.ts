import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '#base/errors.ts';
import { checkImage } from './host-files.ts';

describe('an image from the admin machine', () => {
  let bin = '';
  beforeEach(() => {
    bin = mkdtempSync(join(tmpdir(), 'docker-'));
    vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(bin, { recursive: true });
  });
  const dockerThat = (script: string): void => {
    writeFileSync(join(bin, 'docker'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, 'docker'), 0o755);
  };

  it('is requested from Docker by its name', async () => {
    dockerThat('[ "$*" = "image inspect --format {{.Id}} matryoshka/runner:3" ]');
    await expect(checkImage('matryoshka/runner:3', '--runner-image')).resolves.toBeUndefined();
  });

  it('is refused with its option and the error of Docker', async () => {
    dockerThat('echo "Error: No such image: $5" >&2; exit 1');
    const checked = checkImage('matryoshka/gone', '--operator-image');
    await expect(checked).rejects.toThrow(UsageError);
    await expect(checked).rejects.toThrow(
      /^--operator-image: .*"matryoshka\/gone".*: Error: No such image: matryoshka\/gone$/,
    );
  });

  it('is refused if Docker is not installed', async () => {
    vi.stubEnv('PATH', bin);
    await expect(checkImage('matryoshka/runner', '--runner-image')).rejects.toThrow(
      /^--runner-image: .*docker/,
    );
  });
});
