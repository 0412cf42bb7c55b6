import { expect, it } from 'vitest';
import { ageOf, dataText, spanOf, tableOf } from './output.ts';

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

it('aligns columns, and removes characters that control a terminal', () => {
  const text = tableOf(
    ['NAME', 'MESSAGE'],
    [
      ['a', 'one'],
      ['longer', '\u001b[31mred\u0007'],
    ],
  );
  expect(text.split('\n')).toEqual(['NAME     MESSAGE', 'a        one', 'longer   [31mred']);
});

it('writes data for other programs, and leaves tables to the command', () => {
  expect(dataText('json', { a: 1 }, [])).toBe('{\n  "a": 1\n}');
  expect(dataText('yaml', { a: 1 }, [])).toBe('a: 1');
  expect(dataText('name', {}, ['x', 'y'])).toBe('x\ny');
  expect(dataText('wide', {}, [])).toBeUndefined();
});
