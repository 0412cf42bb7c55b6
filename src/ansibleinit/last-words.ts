import { stripVTControlCharacters } from 'node:util';
import { plainText } from '#base/plain-text.ts';

/** What of a line of a playbook's output is printed, and of what it said last is told: plain text without keys. */

const MAX_LINE = 2_000;
const MAX_TOLD_LINE = 400;
const MAX_WORDS = 800;
/** Lines that are told where none says that it is an error. */
const LAST = 3;
/** Shorter lines of a key, its header among them, say nothing. */
const TELLING = 12;

const ERROR = /^(fatal|ERROR!|\[ERROR\]|failed: \[)/;

export interface LastWords {
  /** The line as it may be shown. */
  hear(line: string): string;
  /** What was said last, or of errors first. */
  words(): string;
}

/** `secrets`: texts that are never repeated, each of their lines by itself. */
export function lastWords(secrets: readonly (string | undefined)[]): LastWords {
  const hidden = secrets.flatMap(linesOf).sort((a, b) => b.length - a.length);
  const errors: string[] = [];
  const last: string[] = [];
  return {
    hear(line) {
      const plain = hidden.reduce(
        (text, secret) => text.replaceAll(secret, '***'),
        plainText(stripVTControlCharacters(line)).trimEnd(),
      );
      const told = plain.slice(0, MAX_TOLD_LINE);
      if (ERROR.test(plain) && errors.length < LAST) errors.push(told);
      if (plain !== '') last.push(told);
      if (last.length > LAST) last.shift();
      return plain.slice(0, MAX_LINE);
    },
    words: () => (errors.length > 0 ? errors : last).join('; ').slice(0, MAX_WORDS),
  };
}

/** A secret of one line as a whole, however short; of a key the lines that tell something. */
function linesOf(secret: string | undefined): string[] {
  const lines = (secret ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.length === 1
    ? lines
    : lines.filter((line) => line.length >= TELLING && !line.startsWith('-----'));
}
