import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { planFrom } from '../faults/plan.ts';
import { mutants } from '../mutants/all.ts';
import { nameOf, occurrences } from '../mutants/mutant.ts';

const read = (file: string) => readFileSync(join(import.meta.dirname, '../..', file), 'utf8');

it('there are at least twenty mutants, each with its own name', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(20);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

it.each(mutants.map((mutant) => [mutant.name, mutant] as const))(
  'the mutant "%s" still fits its file and its test',
  (_name, mutant) => {
    expect(occurrences(read(mutant.file), mutant)).toBe(1);
    expect(mutant.to).not.toBe(mutant.from);
    const { witness } = mutant;
    if ('plan' in witness) expect(planFrom(witness.plan).steps.length).toBeGreaterThan(0);
    else expect(read(witness.file), nameOf(witness)).toContain(witness.test);
  },
);
