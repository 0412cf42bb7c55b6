import { randomBytes } from 'node:crypto';
import type { RunResult } from './connection.ts';
import { quoted } from './quoted.ts';

/** All that a command finds in its environment: a host's own proxies, locale or shell functions change nothing. */
const CLEAN_ENVIRONMENT =
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER=root LOGNAME=root LANG=C LC_ALL=C';
/** Before a command and its arguments. By a shell of its own, since HOME is known only there. The same in host_script.py. */
export const CLEAN = `/bin/sh -c 'exec /usr/bin/env -i HOME="$HOME" ${CLEAN_ENVIRONMENT} "$@"' sh `;

/** Says the mark, runs the command, says the mark again and the exit code, on both streams. */
const BETWEEN_MARKS = `printf '%s\\n' "$1"; printf '%s\\n' "$1" >&2; /bin/sh -c "$2"; code=$?; printf '%s %s\\n' "$1" "$code"; printf '%s %s\\n' "$1" "$code" >&2; exit "$code"`;

interface Framed {
  line: string;
  /** Whether the command began: a login shell, or sudo, may have ended before it. */
  began(result: RunResult): boolean;
  /** Whether the command began and ended, and its whole standard output arrived. */
  whole(result: RunResult): boolean;
  /** What the command itself said; all that was said, where it did not begin. */
  read(result: RunResult): RunResult;
}

/** A command line whose answer stands between marks: what the host's shell says before or after it is not part of it. */
export function framed(command: string): Framed {
  const mark = `matryoshka-${randomBytes(12).toString('hex')}`;
  const began = ({ stdout }: RunResult) => stdout.includes(`${mark}\n`);
  return {
    line: `${CLEAN}/bin/sh -c ${quoted(BETWEEN_MARKS)} sh ${mark} ${quoted(command)}`,
    began,
    whole: ({ stdout }) => new RegExp(`${mark}\\n[^]*${mark} \\d+\\n`).test(stdout),
    read(result) {
      if (!began(result)) return result;
      const code = new RegExp(`${mark} (\\d+)\\n`).exec(result.stdout)?.[1];
      return {
        code: code === undefined ? result.code : Number(code),
        stdout: between(result.stdout, mark),
        stderr: between(result.stderr, mark),
      };
    },
  };
}

/** The end may be missing: a command that was killed, or said too much. */
function between(text: string, mark: string): string {
  const start = text.indexOf(`${mark}\n`);
  if (start < 0) return text;
  const rest = text.slice(start + mark.length + 1);
  const end = rest.lastIndexOf(`${mark} `);
  return end < 0 ? rest : rest.slice(0, end);
}
