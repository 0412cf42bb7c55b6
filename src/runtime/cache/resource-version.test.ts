import { expect, it } from 'vitest';
import { compareVersions } from './resource-version.ts';

it.each([
  ['5', '5', 0],
  ['9', '10', -1],
  ['10', '9', 1],
  ['18446744073709551616', '18446744073709551615', 1],
])('compares %s with %s as numbers of any length', (a, b, sign) => {
  expect(Math.sign(compareVersions(a, b) ?? Number.NaN)).toBe(sign);
});

it('returns no order for a text that is not a number', () => {
  expect(compareVersions('abc', '5')).toBeUndefined();
  expect(compareVersions('05', '5')).toBeUndefined();
  expect(compareVersions('', '5')).toBeUndefined();
});
