import { readFileSync } from 'node:fs';
import { type Clock, systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';

export interface FileContent {
  read(): string;
  /** Drops the cached text, so the next read opens the file. */
  forget(): void;
}

/**
 * Returns the text of a file that is rotated (token, CA); reads it again if the last reading is older than `maxAgeMs`. A
 * file that cannot be read for a moment, during a rotation, keeps its last text. If no reading ever succeeded, it throws an
 * Error with the purpose of the file. Source: client-go transport/token_source.go.
 */
export function fileContent(
  path: string,
  what: string,
  { maxAgeMs = 60_000, clock = systemClock }: { maxAgeMs?: number; clock?: Clock } = {},
): FileContent {
  let last: { text: string; at: number } | undefined;
  let stale = false;
  return {
    read() {
      const now = clock.monotonicMs();
      if (last && !stale && now - last.at < maxAgeMs) return last.text;
      try {
        const text = readFileSync(path, 'utf8').trim();
        if (text === '') throw new Error('it is empty');
        last = { text, at: now };
        stale = false;
        return text;
      } catch (error) {
        if (last) return last.text;
        throw new Error(`${what} (${path}): ${messageOf(error)}`, { cause: error });
      }
    },
    forget() {
      stale = true;
    },
  };
}
