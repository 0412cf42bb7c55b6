import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createManualClock } from '#base/testing/manual-clock.ts';
import { limitsIn } from './limits-file.ts';

it('follows the file of a ConfigMap: missing, written, and unreadable', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'limits-'));
  const clock = createManualClock();
  const read = limitsIn(dir, clock);
  try {
    expect(read()).toEqual({ limits: { default: {}, namespaces: {} } });
    await writeFile(join(dir, 'limits.yaml'), 'default: { clusters: 1 }');
    await clock.advance(2_000);
    expect(read()).toEqual({ limits: { default: { clusters: 1 }, namespaces: {} } });
    await rm(join(dir, 'limits.yaml'));
    await mkdir(join(dir, 'limits.yaml'));
    await clock.advance(2_000);
    expect(read()).toEqual({ problem: expect.stringContaining('limits.yaml cannot be read') });
  } finally {
    await rm(dir, { recursive: true });
  }
});

it('refuses a ConfigMap with a misspelt key, and accepts a missing one', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'limits-'));
  const clock = createManualClock();
  const read = limitsIn(dir, clock);
  const none = { limits: { default: {}, namespaces: {} } };
  try {
    // The kubelet creates such links in a mounted ConfigMap.
    await mkdir(join(dir, '..2026_01_01'));
    expect(read()).toEqual(none);
    await writeFile(join(dir, 'limits.yml'), 'default: { clusters: 1 }');
    await clock.advance(2_000);
    expect(read()).toEqual({
      problem: 'ConfigMap matryoshka-limits has no key limits.yaml, but "limits.yml"; rename it',
    });
    expect(limitsIn(join(dir, 'missing'), clock)()).toEqual(none);
  } finally {
    await rm(dir, { recursive: true });
  }
});
