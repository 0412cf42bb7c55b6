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
