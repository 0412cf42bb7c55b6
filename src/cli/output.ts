import Table from 'cli-table3';
import { stringify } from 'yaml';
import { plainText } from '#base/plain-text.ts';
import type { Format } from './options.ts';

/** Characters of a table without lines, as kubectl prints it. */
const NO_LINES = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((part) => [part, '']),
);

/** Returns rows below their heads, in columns. */
export function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: NO_LINES,
    style: { 'padding-left': 0, 'padding-right': 3, head: [], border: [] },
  });
  table.push([...heads], ...rows.map((row) => row.map(plainText)));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** Returns objects as JSON, YAML or names; undefined for tables, which each command makes by itself. */
export function dataText(format: Format, data: unknown, names: readonly string[]): string | undefined {
  if (format === 'json') return JSON.stringify(data, undefined, 2);
  if (format === 'yaml') return stringify(data).trimEnd();
  return format === 'name' ? names.join('\n') : undefined;
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns a time span with its one or two largest units, such as `5d 3h`. */
export function spanOf(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1_000));
  const first = UNITS.findIndex(([, seconds]) => rest >= seconds);
  if (first === -1) return '0s';
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) parts.push(`${count}${unit[0]}`);
  }
  return parts.join(' ');
}

/** Returns the time since then; empty if it is not a time. */
export function ageOf(time: string | undefined, now: Date): string {
  const since = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(since) ? '' : spanOf(now.getTime() - since);
}
