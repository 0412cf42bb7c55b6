import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const MOST_BYTES = 64 * 1_048_576;

/**
 * Returns the milliseconds of each response at this number of requests a second, sent by a separate process on some cores.
 */
export async function steadyLoad(
  cores: string,
  options: {
    port: number;
    host: string;
    path: string;
    perSecond: number;
    seconds: number;
    connections: number;
  },
): Promise<number[]> {
  const argv = [process.execPath, join(import.meta.dirname, 'steady-client.ts'), JSON.stringify(options)];
  const { stdout } = await run('taskset', ['-c', cores, ...argv], {
    timeout: (options.seconds * 6 + 30) * 1_000,
    maxBuffer: MOST_BYTES,
  });
  return z.array(z.number()).parse(JSON.parse(stdout));
}

export const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
