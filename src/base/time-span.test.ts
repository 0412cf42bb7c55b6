import { expect, it } from 'vitest';
import { ageOf, spanOf } from './time-span.ts';

it.each([
  [0, '0s'],
  [59_000, '59s'],
  [60_000, '1m'],
  [3_725_000, '1h 2m'],
  [7_200_000, '2h'],
  [90_061_000, '1d 1h'],
  [-5, '0s'],
])('writes %d ms as %s', (ms, text) => {
  expect(spanOf(ms)).toBe(text);
});

it('leaves the age of an unknown time empty', () => {
  const now = new Date('2026-11-29T10:00:00Z');
  expect([ageOf('2026-11-29T09:58:00Z', now), ageOf(undefined, now), ageOf('soon', now)]).toEqual([
    '2m',
    '',
    '',
  ]);
});
