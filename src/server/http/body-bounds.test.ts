import { expect, it } from 'vitest';
import { MAX_DEPTH, MAX_FIELDS, MAX_VALUES, refuseOversized } from './body-bounds.ts';

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, n]));
/** A cluster of 1,000 hosts, each with 20 labels. */
const largest = {
  nodeList: Array.from({ length: 1000 }, (_, n) => ({ ip: `10.0.0.${n}`, user: 'root', labels: fields(20) })),
};

it.each<[string, unknown, number | undefined]>([
  ['nothing', undefined, undefined],
  ['a text', 'x', undefined],
  ['the largest cluster', largest, undefined],
  ['as many values as may be', Array(MAX_VALUES).fill(1), undefined],
  ['a value more', Array(MAX_VALUES + 1).fill(1), 413],
  ['a value more, spread', [Array(MAX_VALUES / 2).fill(1), Array(MAX_VALUES / 2).fill(1)], 413],
  ['as many fields as may be', fields(MAX_FIELDS), undefined],
  ['a field more', fields(MAX_FIELDS + 1), 413],
  ['as deep as may be', nested(MAX_DEPTH), undefined],
  ['a level more', nested(MAX_DEPTH + 1), 400],
])('checks the size of %s', (_what, body, status) => {
  expect(refuseOversized(body)?.statusCode).toBe(status);
});

it('refuses a body that is nested too deeply for recursion', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(500_000)}${']'.repeat(500_000)}`);
  expect(refuseOversized(deep)?.message).toMatch(/nested deeper than 32 levels/);
});
