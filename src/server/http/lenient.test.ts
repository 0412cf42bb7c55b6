import { describe, expect, it } from 'vitest';
import { createBody, deleteCluster } from '#rest/asking.ts';
import { readLeniently, warningOf } from './lenient.ts';

describe('readLeniently', () => {
  it.each<[string, unknown, unknown, string[]]>([
    ['keeps what is known', { name: 'a' }, { name: 'a' }, []],
    ['takes "" and null as absent', { name: '', region: null, retry: false }, { retry: false }, []],
    [
      'names unknown fields',
      { nam: 'a', masterList: [{ ip: 'x', col: 1 }] },
      { masterList: [{ ip: 'x' }] },
      ['nam', 'masterList[0].col'],
    ],
    [
      'keeps the keys of maps',
      { nodeList: [{ ip: 'x', labels: { a: 'b' } }] },
      { nodeList: [{ ip: 'x', labels: { a: 'b' } }] },
      [],
    ],
    ['knows no inherited field', { constructor: 1, toString: 2 }, {}, ['constructor', 'toString']],
    ['leaves wrong types to the schema', { nodeList: 'x', name: 7 }, { nodeList: 'x', name: 7 }, []],
    ['leaves what is no object', [1], [1], []],
  ])('%s', (_what, input, value, unknown) => {
    expect(readLeniently(createBody, input)).toEqual({ value, unknown });
  });

  it('reads optional bodies, and refuses deeply nested ones', () => {
    expect(readLeniently(deleteCluster.body, { retry: true, x: 1 })).toEqual({
      value: { retry: true },
      unknown: ['x'],
    });
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(() => readLeniently(createBody, { name: deep })).toThrow(/too deeply/);
  });

  it('writes names of any kind into a valid header', () => {
    expect(warningOf(['a\r\nSet-Cookie: x', 'ü"\\', 'x'.repeat(99)])).toBe(
      `299 - "ignored unknown fields: a??Set-Cookie:?x, ???, ${'x'.repeat(60)}"`,
    );
    expect(warningOf(Array.from({ length: 1000 }, () => 'field')).length).toBeLessThan(200);
  });
});
