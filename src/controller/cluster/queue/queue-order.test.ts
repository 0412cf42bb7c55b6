import { describe, expect, it } from 'vitest';
import { randomFrom } from '#base/testing/random.ts';
import { inOrder, nextOf, rounded, type Waiting } from './queue-order.ts';

/** Parses `a1`: waits in namespace `a` since minute 1; a trailing `!` deletes. */
const waiting = (text: string): Waiting[] =>
  text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({
      cluster: one,
      namespace: one.slice(0, 1),
      since: `2026-01-01T00:${(/\d+/.exec(one)?.[0] ?? '').padStart(2, '0')}:00Z`,
      deletes: one.endsWith('!'),
    }));
const running = (counts: Record<string, number>) => new Map(Object.entries(counts));
const names = (ones: readonly Waiting[]) => ones.map(({ cluster }) => cluster).join(' ');

describe('the queue order', () => {
  it.each([
    ['who waits longest', 'a3 a1 a2', {}, 'a1 a2 a3'],
    ['one of each namespace in turn', 'a1 a2 a3 b4 b5', {}, 'a1 b4 a2 b5 a3'],
    ['the namespace with the fewest running', 'a1 b2 c3', { a: 2, b: 1 }, 'c3 b2 a1'],
    ['a namespace with many waits until others have as many', 'a1 a2 b3 b4 b5', { a: 2 }, 'b3 b4 a1 b5 a2'],
    ['deletions first of all', 'a1 b2 a9! b8!', { a: 5 }, 'b8! a9! b2 a1'],
    ['a deletion counts for its namespace', 'a1 b2 a9!', {}, 'a9! b2 a1'],
    ['nobody', '', {}, ''],
  ])('%s', (_what, ones, counts, order) => {
    expect(names(inOrder(waiting(ones), running(counts)))).toBe(order);
  });

  it('equals repeated choices of the next operation', () => {
    const random = randomFrom(20_260_101);
    const pick = (of: string) => of[Math.floor(random() * of.length)] ?? '';
    for (let round = 0; round < 300; round += 1) {
      const count = Math.floor(random() * 12);
      const ones = waiting(
        Array.from(
          { length: count },
          (_of, index) => `${pick('abcd')}${index}${random() < 0.2 ? '!' : ''}`,
        ).join(' '),
      ).sort(() => random() - 0.5);
      const counts = running({ a: Math.floor(random() * 4), b: Math.floor(random() * 4) });
      const whole = inOrder(ones, counts);
      const left = new Set(ones);
      const oneByOne: Waiting[] = [];
      for (let next = nextOf(left, counts); next; next = nextOf(left, counts)) {
        left.delete(next);
        oneByOne.push(next);
        counts.set(next.namespace, (counts.get(next.namespace) ?? 0) + 1);
      }
      expect(names(whole)).toBe(names(oneByOne));
    }
  });

  it('is computed for 4000 operations in under 200 ms', () => {
    const many = Array.from({ length: 4_000 }, (_of, index) => ({
      cluster: `n${index % 40}/c${index}`,
      namespace: `n${index % 40}`,
      since: String(index).padStart(5, '0'),
      deletes: false,
    }));
    const began = performance.now();
    for (let round = 0; round < 10; round += 1) inOrder(many, new Map());
    expect((performance.now() - began) / 10).toBeLessThan(200);
  });
});

it.each([
  [0, 0],
  [10, 10],
  [11, 10],
  [29, 20],
  [99, 90],
  [100, 100],
  [199, 100],
  [4_711, 4_700],
])('reports place %d as %d', (place, reported) => {
  expect(rounded(place)).toBe(reported);
});
