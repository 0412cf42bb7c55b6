import { expect, it } from 'vitest';
import { dataText, tableOf } from './output.ts';

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
