import { describe, expect, it } from 'vitest';
import type { Keep } from '#api/etcd-snapshots.ts';
import { superfluous } from './retention.ts';

/** Snapshots of each hour over ten days, the last on Sunday, 2026-11-29, 23:00. */
const HOURS = Array.from({ length: 240 }, (_, at) => ({
  createdAt: new Date(Date.UTC(2026, 10, 29, 23) - at * 3_600_000),
}));
const keptBy = (keep: Keep, all = HOURS) => {
  const gone = new Set(superfluous(all, keep));
  return all.filter((one) => !gone.has(one)).map(({ createdAt }) => createdAt.toISOString().slice(0, 13));
};

describe('snapshots that stay', () => {
  it.each<[string, Keep, string[]]>([
    ['the last', { last: 2 }, ['2026-11-29T23', '2026-11-29T22']],
    ['the newest of each day', { daily: 3 }, ['2026-11-29T23', '2026-11-28T23', '2026-11-27T23']],
    ['the newest of each week, from Monday', { weekly: 2 }, ['2026-11-29T23', '2026-11-22T23']],
    ['the newest, even if no rule keeps it', { last: 0 }, ['2026-11-29T23']],
    [
      'what any rule keeps',
      { last: 1, hourly: 2, daily: 2 },
      ['2026-11-29T23', '2026-11-29T22', '2026-11-28T23'],
    ],
  ])('%s', (_what, keep, kept) => {
    expect(keptBy(keep)).toEqual(kept);
  });

  it('are seven without a rule', () => {
    expect(keptBy({})).toHaveLength(7);
  });

  it('counts periods that have a snapshot, so a gap loses none', () => {
    const sparse = [0, 24 * 30, 24 * 60].map((hours) => ({
      createdAt: new Date(Date.UTC(2026, 10, 29) - hours * 3_600_000),
    }));
    expect(keptBy({ daily: 3 }, sparse)).toHaveLength(3);
  });

  it('is nothing to decide without snapshots', () => {
    expect(superfluous([], { last: 3 })).toEqual([]);
  });
});
