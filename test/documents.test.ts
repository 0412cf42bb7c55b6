import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** What docs/reliability.md promises is where it says. */
const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'docs/reliability.md'), 'utf8');
const rows = text.split('\n').filter((line) => /^\| \d+ \|/.test(line));

describe('docs/reliability.md', () => {
  it('has a row for each of the 31 faults', () => {
    expect(rows.map((row) => Number(row.split('|')[1]))).toEqual(Array.from({ length: 31 }, (_, i) => i + 1));
  });

  it.each([...new Set([...text.matchAll(/`([a-z]+\/[\w./-]+)`/g)].map(([, path]) => path ?? ''))])(
    'names %s, which is there',
    (path) => {
      expect(existsSync(join(root, path))).toBe(true);
    },
  );

  it('names a test, or says that there is none', () => {
    const bare = rows.filter((row) => !/plans|\.test\.ts`|no test of its own yet/.test(row));
    expect(bare).toEqual([]);
  });
});
