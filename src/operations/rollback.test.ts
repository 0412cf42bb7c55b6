import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '#api/kubernetes-cluster.ts';
import { planFor } from './plan-for.ts';
import { rollback } from './rollback.ts';
import { records, spec } from './testing/planned.fixture.ts';

const present = spec([1], [2]);
type Past = readonly [word: string, result?: RequestRecord['result']];

/** Returns the refusals of a rollback after these operations. */
const refused = (...past: readonly Past[]) =>
  planFor(rollback, {
    spec: present,
    applied: present,
    hosts: records(present),
    offer: { versions: ['v1.34.4'] },
    version: 'v1.34.4',
    requests: past.map(([word, result], index) => ({
      ...{ word, requestId: '', specHash: '', sequence: index + 1 },
      ...(result ? { result } : {}),
    })),
  }).refusals.map(({ field, value, reason }) => `${field} (${value}): ${reason}`);

const created: Past = ['creating', 'finished'];

describe('a rollback', () => {
  it.each<[string, readonly Past[], string]>([
    ['a creation', [created], 'no upgrade has begun since'],
    ['an upgrade', [created, ['updating', 'finished']], 'the last upgrade has finished'],
    [
      'a retried upgrade',
      [
        ['updating', 'failed'],
        ['updating', 'finished'],
      ],
      'the last upgrade has finished',
    ],
    ['a renewal of a new cluster', [created, ['renewing', 'finished']], 'no upgrade has begun since'],
  ])('is refused after %s', (_what, past, reason) => {
    expect(refused(...past)).toEqual([
      expect.stringMatching(
        `^spec\\.cluster\\.kubeVersion \\(v1\\.34\\.4\\): there is nothing to undo: .*${reason}`,
      ),
    ]);
  });

  it.each<[string, readonly Past[]]>([
    ['a failed upgrade', [created, ['updating', 'failed']]],
    ['a cancelled upgrade', [created, ['updating', 'cancelled']]],
    ['an upgrade that has not ended', [created, ['updating']]],
    [
      'a rollback, for a worker that was away',
      [created, ['updating', 'failed'], ['rollbacking', 'finished']],
    ],
    ['a failed rollback', [created, ['updating', 'failed'], ['rollbacking', 'failed']]],
    ['a failed upgrade and a snapshot', [created, ['updating', 'failed'], ['snapshotting', 'finished']]],
    ['operations that status no longer lists', []],
  ])('is allowed after %s', (_what, past) => {
    expect(refused(...past)).toEqual([]);
  });
});
