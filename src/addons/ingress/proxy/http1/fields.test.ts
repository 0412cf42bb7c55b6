import { expect, it } from 'vitest';
import { fieldsOf } from './fields.ts';

it('spaces around a value are none of it, and those within take no time by their square', () => {
  const spaces = ' \t'.repeat(100_000);
  const startMs = performance.now();
  expect(fieldsOf([`x:${spaces}a${spaces}b${spaces}`, 'y:', `z:${spaces}`, 'w:v'], 0, 4)).toEqual([
    ...['x', `a${spaces}b`, 'y', '', 'z', '', 'w', 'v'],
  ]);
  expect(performance.now() - startMs).toBeLessThan(2_000);
});
