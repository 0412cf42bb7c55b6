import { describe, expect, it } from 'vitest';
import { BROKEN_OFF } from '#rest/read-routes.ts';
import { fitting } from './log-chunk.ts';
import { lineFrom, textFrom } from './log-lines.ts';
import { gathered } from './log-pack.ts';

describe('fitting', () => {
  it.each<[string, number, number]>([
    ['a\nb\n', 10, 4],
    ['a\nb\nc', 10, 4],
    ['a\nb\n', 3, 2],
    ['a\nb\n', 0, 0],
    ['aaaa\n', 3, 3],
    ['aaaa', 10, 4],
    ['aää', 4, 3],
    ['', 10, 0],
    ['a\n', -5, 0],
  ])('returns for %j with a limit of %i: %i bytes', (text, room, bytes) => {
    expect(fitting(Buffer.from(text), room)).toBe(bytes);
  });
});

it('joins texts into packs without splitting any', () => {
  expect(gathered(['aa', 'b', 'cc', 'ddddd', 'e'], 4)).toEqual(['aab', 'cc', 'ddddd', 'e']);
  expect(gathered([], 4)).toEqual([]);
});

describe('lines of a log', () => {
  const time = '2026-01-01T10:11:12.345Z';
  it.each<[object | string, string]>([
    [{ time, event: 'play', play: 'Masters' }, '10:11:12  PLAY Masters'],
    [{ time, event: 'task', task: 'Join' }, '10:11:12  Join'],
    [
      { time, event: 'failed', host: 'a', task: 'Join', seconds: 2, message: 'no' },
      '10:11:12  a  Join  failed  2.0 s  no',
    ],
    [
      { time, event: 'precheck', host: '10.0.0.1', message: 'warning: small' },
      '10:11:12  10.0.0.1  precheck  warning: small',
    ],
    [{ time, event: 'info', message: 'a\u001b[31mb' }, '10:11:12  a[31mb'],
    [{ time, event: 'new-kind', more: 1 }, '10:11:12  new-kind'],
    ['no json', '    | no json'],
    ['{"time":7}', '    | {"time":7}'],
    // The standard error of a host may contain anything.
    [
      {
        time,
        event: 'failed',
        host: 'a',
        task: 'Join',
        message: `no\n10:11:13  b  Join  ok\r\n${BROKEN_OFF}\n`,
      },
      `10:11:12  a  Join  failed  no\n    | 10:11:13  b  Join  ok\n    | ${BROKEN_OFF}`,
    ],
    [
      { time, event: 'info', message: 'a\u202eb\u2066c\u200bd\u0085e\u2028f' },
      '10:11:12  abcd\n    | e\n    | f',
    ],
  ])('are formatted from %j', (event, line) => {
    expect(lineFrom(typeof event === 'string' ? event : JSON.stringify(event))).toBe(line);
  });

  it('keep an incomplete line until its end arrives', () => {
    expect(textFrom('one\ntw')).toEqual({ text: '    | one\n', rest: 'tw' });
    expect(textFrom('')).toEqual({ text: '', rest: '' });
  });
});
