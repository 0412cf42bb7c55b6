import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { LIMITS_KEY, type LimitsRead, limitsWithout, parseLimits } from '#operations/limits.ts';

/**
 * Time for which the limits are cached. A mounted ConfigMap follows its object within a minute or so, so more reads gain
 * nothing.
 */
const REMEMBER_MS = 2_000;

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Reads the limits of the site from a directory, again every two seconds; an empty directory sets none. */
export function limitsIn(directory: string, clock: Clock): () => LimitsRead {
  let known: { untilMs: number; limits: LimitsRead } | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (!known || known.untilMs <= now) known = { untilMs: now + REMEMBER_MS, limits: read(directory) };
    return known.limits;
  };
}

function read(directory: string): LimitsRead {
  try {
    return parseLimits(readFileSync(join(directory, LIMITS_KEY), 'utf8'));
  } catch (error) {
    if (isMissing(error)) return readWithout(directory);
    return { problem: `${join(directory, LIMITS_KEY)} cannot be read: ${messageOf(error)}` };
  }
}

/** Reads the directory without the kubelet's links, which are beside the keys of a ConfigMap and begin with two dots. */
function readWithout(directory: string): LimitsRead {
  try {
    // A key that appeared after the search for the file is read the next time.
    const keys = readdirSync(directory).filter((name) => !name.startsWith('..') && name !== LIMITS_KEY);
    return limitsWithout(keys);
  } catch (error) {
    if (isMissing(error)) return parseLimits(undefined);
    return { problem: `${directory} cannot be read: ${messageOf(error)}` };
  }
}
