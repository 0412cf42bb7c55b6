import { expect, it } from 'vitest';
import { whereBroken } from './json-body.ts';

it.each([
  ['{\n"a": x}', 'line 2, column 6'],
  ['{"a": 1,}', 'line 1, column 9'],
  ['{"a" 1}', 'line 1, column 6'],
  ['[1 2]', 'line 1, column 4'],
  ['{"a": tru}', 'line 1, column 7'],
  ['{"a": 1} x', 'line 1, column 10'],
  ['{"a": 1', 'its end: something is not closed'],
  ['{"a": "b', 'line 1, column 7'],
  ["{'a': 1}", 'line 1, column 2'],
])('finds the broken position of %j', (text, where) => {
  expect(whereBroken(text)).toBe(where);
});
