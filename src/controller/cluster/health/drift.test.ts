import { describe, expect, it } from 'vitest';
import { driftIn } from './drift.ts';

const now = new Date('2026-01-01T12:00:00Z');
const reported = (more: object = {}) =>
  JSON.stringify({ at: '2026-01-01T11:50:00Z', count: 1, things: [['file', '/etc/a', 'changed']], ...more });

describe('the drift report of a host', () => {
  it.each<[string, string, object]>([
    ['nothing differs', reported({ count: 0, things: [] }), { count: 0, things: [] }],
    ['a file', reported(), { count: 1, things: ['/etc/a changed'] }],
    [
      'a unit',
      reported({ things: [['unit', 'a.service', 'not enabled']] }),
      { count: 1, things: ['unit a.service not enabled'] },
    ],
    ['more than is named', reported({ count: 30 }), { count: 30, things: ['/etc/a changed'] }],
    ['fewer than are named', reported({ count: 0 }), { count: 1, things: ['/etc/a changed'] }],
  ])('is accepted: %s', (_, text, drift) => {
    expect(driftIn(text, now)).toEqual({ atMs: Date.parse('2026-01-01T11:50:00Z'), ...drift });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['what is no text', 7],
    ['what is no JSON', '{'],
    ['another shape', '{"count":1}'],
    ['control characters', reported({ things: [['file', '/etc/a\u001b[2J', 'changed']] })],
    ['line breaks', reported({ things: [['file', '/etc/a', 'changed\nReady: True']] })],
    [
      'other alphabets, which may be written backwards',
      reported({ things: [['file', '\u202e/etc/a', 'x']] }),
    ],
    ['long words', reported({ things: [['file', `/${'a'.repeat(200)}`, 'changed']] })],
    [
      'many things',
      reported({ things: Array.from({ length: 21 }, (_, at) => ['file', `/etc/${at}`, 'changed']) }),
    ],
    ['a long text', reported({ more: 'a'.repeat(3000) })],
    ['what is told no more', reported({ at: '2026-01-01T11:30:00Z' })],
    ['a count that is none', reported({ count: -1 })],
  ])('is ignored: %s', (_, text) => {
    expect(driftIn(text, now)).toBeUndefined();
  });
});
