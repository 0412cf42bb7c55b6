import { expect, it } from 'vitest';
import { membersIn } from './members.ts';

const now = new Date('2026-01-01T12:00:00Z');
const reported = (members: unknown, at = '2026-01-01T11:59:00Z', leader?: string) =>
  JSON.stringify({ at, members, leader });

it('reads the etcd members that a control plane reports', () => {
  const text = reported([
    ['10.0.0.5', 'healthy'],
    ['fd00:0::6', 'ALARM NOSPACE'],
    ['no address', 'healthy'],
  ]);
  expect(membersIn(text, now)).toEqual([
    { ip: '10.0.0.5', healthy: true, says: 'healthy' },
    { ip: 'fd00::6', healthy: false, says: 'ALARM NOSPACE' },
  ]);
});

it('reads which member is the leader', () => {
  const text = reported(
    [
      ['10.0.0.5', 'healthy'],
      ['10.0.0.6', 'healthy'],
    ],
    undefined,
    '10.0.0.6',
  );
  expect(membersIn(text, now)?.map(({ isLeader: leader }) => leader)).toEqual([undefined, true]);
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['what is told no more', reported([['10.0.0.5', 'healthy']], '2026-01-01T11:56:00Z')],
  ['line breaks', reported([['10.0.0.5', 'healthy\nReady']])],
  ['many members', reported(Array.from({ length: 21 }, (_, at) => [`10.0.0.${at}`, 'healthy']))],
])('ignores %s', (_, text) => {
  expect(membersIn(text, now)).toBeUndefined();
});
