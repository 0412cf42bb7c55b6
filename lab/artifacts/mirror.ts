import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { Presets, SingleBar } from 'cli-progress';
import pMap from 'p-map';
import { z } from 'zod';
import { download } from '#artifacts/download.ts';
import { PARALLEL } from '#artifacts/source.ts';
import { messageOf } from '#base/errors.ts';
import type { Say } from './progress.ts';
import released from './released.json' with { type: 'json' };

/** Files that a mirror may offer instead of a build: by path, the stamp of their inputs, and what they must be. */
export const Released = z.record(
  z.string(),
  z.strictObject({ stamp: z.string(), sha256: z.string(), bytes: z.int() }),
);
export type Released = z.infer<typeof Released>;
export const releasedFiles: Released = Released.parse(released);

/** Without a terminal, the progress is a line at this interval. */
const LINE_MS = 10_000;
const MIB = 1024 * 1024;
/** The other files are programs. */
const ARCHIVE = /\.(tar|tgz|tar\.gz)$/;

type Pin = readonly [path: string, of: Released[string]];

/**
 * Downloads files into a directory, each with its pinned sum, and shows a progress bar. Returns those that arrived; the others
 * are named with the reason.
 */
export async function downloadFrom(
  mirror: string,
  wanted: readonly Pin[],
  dir: string,
  say: Say,
): Promise<Pin[]> {
  const arrived: Pin[] = [];
  const refusals: string[] = [];
  const total = wanted.reduce((sum, [, { bytes }]) => sum + bytes, 0);
  const bar = new SingleBar(
    {
      format: `downloading ${wanted.length} files |{bar}| {percentage}% of ${Math.ceil(total / MIB)} MiB, {eta_formatted} left`,
      noTTYOutput: true,
      notTTYSchedule: LINE_MS,
    },
    Presets.shades_classic,
  );
  bar.start(total, 0);
  try {
    await pMap(
      wanted,
      async (pin) => {
        const [path, { sha256, bytes }] = pin;
        let done = 0;
        try {
          await download(`${mirror.replace(/\/+$/, '')}/${path}`, join(dir, path), sha256, (count) => {
            done += count;
            bar.increment(count);
          });
          if (!ARCHIVE.test(path)) await chmod(join(dir, path), 0o755);
          arrived.push(pin);
        } catch (error) {
          bar.increment(bytes - done);
          refusals.push(`${path} is built instead: ${messageOf(error)}`);
        }
      },
      { concurrency: PARALLEL },
    );
  } finally {
    bar.stop();
  }
  for (const line of refusals) say(line);
  return arrived;
}
