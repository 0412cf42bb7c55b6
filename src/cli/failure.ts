import type { z } from 'zod';
import { MAX_PROBLEMS } from '#base/errors.ts';
import type { errorSchema } from '#rest/answers.ts';

/** Exit codes of the commands that talk to a server (docs/reference/command-line.md). */
export const EXIT = {
  /** The operation failed. */
  failed: 1,
  /** A flag, an argument or a file is wrong. */
  usage: 2,
  /** The server refused the request. */
  refused: 3,
  /** The token is missing, invalid, or lacks a right. */
  notAllowed: 4,
  /** No server answers, or the server cannot work. */
  unavailable: 5,
  /** `--timeout` has passed; the operation goes on. */
  timeout: 6,
} as const;

/** Failure of a command that is printed without a stack. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
  readonly exitCode: number;
  /** HTTP status, if the server has answered. */
  readonly status: number | undefined;

  constructor(message: string, exitCode: number, status?: number) {
    super(message);
    this.exitCode = exitCode;
    this.status = status;
  }
}

export const wrongUse = (message: string): CommandFailure => new CommandFailure(message, EXIT.usage);

type ErrorAnswer = z.infer<typeof errorSchema>;

const exitCodeOf = (status: number): number => {
  if (status === 401 || status === 403) return EXIT.notAllowed;
  return status === 429 || status >= 500 ? EXIT.unavailable : EXIT.refused;
};

/** Flags that a user has given, by the field of the request that holds their value: `{kubeVersion: '--to'}`. */
export type Flags = Readonly<Record<string, string>>;

/** Returns the flag of a field, or of a field that holds it; undefined if no flag gives either. */
const flagOf = (field: string, flags: Flags): string | undefined =>
  Object.entries(flags).find(
    ([given]) => field.startsWith(given) && ['', '.', '['].includes(field.charAt(given.length)),
  )?.[1];

/** Returns the lines of problems: flag or field, value and reason. */
export const problemLines = (problems: NonNullable<ErrorAnswer['errors']>, flags: Flags = {}): string[] =>
  problems.slice(0, MAX_PROBLEMS).map(({ field, value, reason }) => {
    const flag = flagOf(field, flags);
    const isText = typeof value === 'string' || typeof value === 'number';
    const isNamed = reason.split(/[\s,;:]+/).includes(String(value));
    const shown = isText && !isNamed ? [String(value)] : [];
    if (flag !== undefined) return [`${flag}:`, ...shown, reason].join(' ');
    return `${[field, ...shown].join(': ')} ${reason}`;
  });

/** Returns the failure of a request that the server has refused. */
export function refusal(
  status: number,
  { message, errors = [] }: ErrorAnswer,
  flags: Flags = {},
): CommandFailure {
  const hint = status === 401 ? '; "matryoshka login" stores a new token' : '';
  const text = errors.length > 0 ? problemLines(errors, flags).join('\n') : `${message}${hint}`;
  return new CommandFailure(text, exitCodeOf(status), status);
}
