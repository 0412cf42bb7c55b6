import { stripVTControlCharacters } from 'node:util';
import { plainText } from '#base/plain-text.ts';

/** Selects the lines of a playbook's output that are printed, and the last ones for the message: plain text without keys. */

const MAX_LINE = 2_000;
const MAX_SUMMARY_LINE = 400;
const MAX_SUMMARY = 800;
/** Number of last lines in the message if no line is an error. */
const LAST = 3;
/** Minimum length of a line of a key to hide; shorter lines and its header reveal nothing. */
const REVEALING_LENGTH = 12;

const ERROR = /^(fatal|ERROR!|\[ERROR\]|failed: \[)/;

export interface OutputSummary {
  /** Returns the line without secrets. */
  hear(line: string): string;
  /** Returns the errors, else the last lines. */
  summary(): string;
}

/** Collects output. `secrets`: texts that never appear, each of their lines separately. */
export function summarizeOutput(secrets: readonly (string | undefined)[]): OutputSummary {
  const hidden = secrets.flatMap(linesOf).sort((a, b) => b.length - a.length);
  const errors: string[] = [];
  const last: string[] = [];
  return {
    hear(line) {
      const plain = hidden.reduce(
        (text, secret) => text.replaceAll(secret, '***'),
        plainText(stripVTControlCharacters(line)).trimEnd(),
      );
      const reported = plain.slice(0, MAX_SUMMARY_LINE);
      if (ERROR.test(plain) && errors.length < LAST) errors.push(reported);
      if (plain !== '') last.push(reported);
      if (last.length > LAST) last.shift();
      return plain.slice(0, MAX_LINE);
    },
    summary: () => (errors.length > 0 ? errors : last).join('; ').slice(0, MAX_SUMMARY),
  };
}

/** Returns the texts to hide: a secret of one line, however short; for a key, the lines that reveal something. */
function linesOf(secret: string | undefined): string[] {
  const lines = (secret ?? '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return lines.length === 1
    ? lines
    : lines.filter((line) => line.length >= REVEALING_LENGTH && !line.startsWith('-----'));
}
