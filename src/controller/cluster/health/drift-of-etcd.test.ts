import { describe, expect, it } from 'vitest';
import { driftOfEtcdIn } from './drift-of-etcd.ts';

const now = new Date('2026-01-01T12:00:00Z');
const at = '2026-01-01T11:50:00Z';
const coded = (text: string) => Buffer.from(text).toString('base64');
const drift = (more: object = {}) => coded(JSON.stringify({ at, count: 0, things: [], ...more }));
const reported = (hosts: readonly (readonly [string, string])[], more: object = {}) =>
  JSON.stringify({ at, hosts, ...more });
const names = (annotation: unknown) => [...(driftOfEtcdIn(annotation, now)?.keys() ?? ['nothing'])];
const N5 = coded('/matryoshka/drift/n5');

describe('drift reports of etcd hosts that a control plane forwards', () => {
  it('are read by host name', () => {
    const things = [['file', '/etc/a', 'changed']];
    const text = reported([
      [N5, drift({ count: 1, things })],
      [coded('/matryoshka/drift/n6'), drift()],
    ]);
    const atMs = Date.parse(at);
    expect([...(driftOfEtcdIn(text, now) ?? [])]).toEqual([
      ['n5', { atMs, count: 1, things: ['/etc/a changed'] }],
      ['n6', { atMs, count: 0, things: [] }],
    ]);
  });

  it.each<[string, string, string[]]>([
    ['of none', reported([]), []],
    ['of one that tells no more', reported([[N5, drift({ at: '2026-01-01T11:30:00Z' })]]), []],
    ['of one that cannot be understood', reported([[N5, coded('{')]]), []],
    ['under another key', reported([[coded('/registry/n5'), drift()]]), []],
    ['no more', reported([[N5, drift()]], { at: '2026-01-01T11:30:00Z' }), ['nothing']],
    ['in another alphabet', reported([[N5, '\u202e']]), ['nothing']],
    ['of many', reported(Array.from({ length: 21 }, () => [N5, drift()] as const)), ['nothing']],
    ['at length', reported([[N5, 'a'.repeat(3000)]]), ['nothing']],
  ])('are ignored: %s', (_, text, found) => {
    expect(names(text)).toEqual(found);
  });
});
