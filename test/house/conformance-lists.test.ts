import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { specsIn } from '#lab/upstream/specs.ts';

/** Lists of upstream's specs that a cluster of ours must pass. They only grow: raise the minimum with the list. */
const LEAST = { 'kubeadm.txt': 32, 'specs.txt': 365, 'after-changes.txt': 72 };

const folder = join(import.meta.dirname, '../conformance-cluster');
const listed = (list: string) => specsIn(readFileSync(join(folder, list), 'utf8'));

describe.each(Object.entries(LEAST))('%s', (list, least) => {
  const names = listed(list);

  it(`has at least ${least} specs`, () => {
    expect(names.length).toBeGreaterThanOrEqual(least);
  });

  it('names each once, in order', () => {
    expect(names).toEqual([...new Set(names)].sort());
  });
});

it('policies.txt has at least 32 cases of cyclonus, in order', () => {
  const names = listed('policies.txt');
  expect(names.length).toBeGreaterThanOrEqual(32);
  expect(names).toEqual([...names].sort());
});

it('every spec that runs after changes is in specs.txt too', () => {
  const before = new Set(listed('specs.txt'));
  expect(listed('after-changes.txt').filter((name) => !before.has(name))).toEqual([]);
});

it('every spec in specs.txt has the label [Conformance]', () => {
  expect(listed('specs.txt').filter((name) => !name.endsWith('[Conformance]'))).toEqual([]);
});
