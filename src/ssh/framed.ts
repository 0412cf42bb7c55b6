import { randomBytes } from 'node:crypto';
import type { RunResult } from './command.ts';
import { quoted } from './quoted.ts';

/** Whole environment of a command: a host's proxies, locale or shell functions have no effect. */
const CLEAN_ENVIRONMENT =
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER=root LOGNAME=root LANG=C LC_ALL=C';
/**
 * Precedes a command and its arguments. It runs in a separate shell, because HOME is known only there. host_script.py has
 * the same.
 */
export const CLEAN = `/bin/sh -c 'exec /usr/bin/env -i HOME="$HOME" ${CLEAN_ENVIRONMENT} "$@"' sh `;

/** Prints the mark, runs the command, prints the mark again and the exit code, on both streams. */
const BETWEEN_MARKERS = `printf '%s\\n' "$1"; printf '%s\\n' "$1" >&2; /bin/sh -c "$2"; code=$?; printf '%s %s\\n' "$1" "$code"; printf '%s %s\\n' "$1" "$code" >&2; exit "$code"`;

interface Framed {
  line: string;
  /** Whether the command began: a login shell, or sudo, may have ended before it. */
  began(result: RunResult): boolean;
  /** Whether the command began and ended, and its whole standard output arrived. */
  whole(result: RunResult): boolean;
  /** Returns the output of the command; returns all output if the command did not begin. */
  read(result: RunResult): RunResult;
}

/** Wraps a command line so that its output is between marks; output of the host's shell before or after it is excluded. */
export function framed(command: string): Framed {
  const marker = `matryoshka-${randomBytes(12).toString('hex')}`;
  const began = ({ stdout }: RunResult) => stdout.includes(`${marker}\n`);
  return {
    line: `${CLEAN}/bin/sh -c ${quoted(BETWEEN_MARKERS)} sh ${marker} ${quoted(command)}`,
    began,
    whole: ({ stdout }) => partsOf(stdout, marker)?.code !== undefined,
    read(result) {
      const parts = partsOf(result.stdout, marker);
      if (!parts) return result;
      return {
        code: parts.code ?? result.code,
        stdout: parts.said,
        stderr: partsOf(result.stderr, marker)?.said ?? result.stderr,
      };
    },
  };
}

interface Parts {
  said: string;
  /** Undefined if the end is missing: the command was killed, or printed too much. */
  code: number | undefined;
}

/**
 * Splits the text at the marks by string search: a hostile host knows the mark, and a regular expression over its
 * repetitions takes minutes.
 */
function partsOf(text: string, marker: string): Parts | undefined {
  const start = text.indexOf(`${marker}\n`);
  if (start < 0) return undefined;
  const rest = text.slice(start + marker.length + 1);
  const end = rest.lastIndexOf(`${marker} `);
  if (end < 0) return { said: rest, code: undefined };
  const code = /^(\d{1,3})\n/.exec(rest.slice(end + marker.length + 1))?.[1];
  return { said: rest.slice(0, end), code: code === undefined ? undefined : Number(code) };
}
