import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#api/kubernetes-cluster.ts';
import { MAX_HISTORY, specSchema } from '#api/kubernetes-cluster.ts';
import { specHashOf } from '#operations/spec-hash.ts';
import { operation, resolved, spec } from '../testing/given.fixture.ts';
import { pruning } from './history.ts';

const request = (sequence: number, history?: number): RequestRecord => ({
  word: 'relabeling',
  requestId: String(sequence),
  specHash: 'x',
  sequence,
  result: 'failed',
  ...(history === undefined ? {} : { history }),
});
/** Returns what the end of operation `sequence` prunes with this limit; the end before kept as many as it says. */
const pruned = (sequence: number, history: number | undefined, before: readonly RequestRecord[]) => {
  const wanted = history === undefined ? resolved : { ...resolved, history };
  return pruning({ ...operation, sequence, spec: wanted }, [...before, request(sequence)]);
};
const sequences = (...given: Parameters<typeof pruned>) =>
  pruned(...given).flatMap(({ records }) => records.map(({ sequence }) => sequence));

describe('the history that the end of an operation removes', () => {
  it.each([
    ['nothing while there are few', 10, undefined, [request(9)], []],
    ['the eleventh', 11, undefined, [request(10)], [1]],
    ['what a failure leaves as well, one each', 30, undefined, [request(29)], [20]],
    ['more where the limit was lowered', 30, 3, [request(29)], [20, 21, 22, 23, 24, 25, 26, 27]],
    ['one each where it stays lowered', 31, 3, [request(30, 3)], [28]],
    ['nothing where it was raised, until it is reached', 31, 20, [request(30)], []],
    ['what a lost sequence left', 31, undefined, [request(29)], [20, 21]],
    ['all but the very last', 3, 1, [request(2)], [1, 2]],
    ['no more than the longest history', 500, 99, [], [400, 401]],
  ])('%s', (_what, sequence, history, before, gone) => {
    expect(sequences(sequence, history, before)).toEqual(gone);
  });

  it('has the name of its operation, or every name if the request is unknown', () => {
    expect(pruned(13, undefined, [request(2), request(11)])).toEqual([
      {
        kind: 'prune',
        upTo: 3,
        records: [
          { sequence: 2, operations: ['relabel'] },
          { sequence: 3, operations: expect.arrayContaining(['create', 'scale-up', 'relabel']) },
        ],
      },
    ]);
  });
});

it('leaves history out of the spec hash, and checks its bounds', () => {
  expect(specHashOf({ ...spec, history: 3 })).toBe(specHashOf(spec));
  const takes = (history: unknown) => specSchema.safeParse({ ...spec, history }).success;
  expect([0, 1, MAX_HISTORY, MAX_HISTORY + 1, 1.5, '3'].map(takes)).toEqual([
    false,
    true,
    true,
    false,
    false,
    false,
  ]);
});
