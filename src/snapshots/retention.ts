import { KEPT_SNAPSHOTS, type Keep } from '#api/etcd-snapshots.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** 1970-01-01 was a Thursday; weeks begin on Monday (ISO 8601). */
const TO_MONDAY_MS = 3 * DAY_MS;

const hourOf = (at: Date): number => Math.floor(at.getTime() / HOUR_MS);
const dayOf = (at: Date): number => Math.floor(at.getTime() / DAY_MS);
const weekOf = (at: Date): number => Math.floor((at.getTime() + TO_MONDAY_MS) / (7 * DAY_MS));

/**
 * Returns the snapshots that no rule keeps. Each rule keeps the newest snapshot of each of its last periods that has one, in
 * UTC, as restic and borg do. The newest snapshot always stays.
 */
export function superfluous<T extends { createdAt: Date }>(snapshots: readonly T[], keep: Keep): T[] {
  const newestFirst = snapshots.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  const others = [keep.hourly, keep.daily, keep.weekly].some((count) => count !== undefined);
  const last = Math.max(1, keep.last ?? (others ? 0 : KEPT_SNAPSHOTS));
  const kept = new Set(newestFirst.slice(0, last));
  const periods = [
    [keep.hourly, hourOf],
    [keep.daily, dayOf],
    [keep.weekly, weekOf],
  ] as const;
  for (const [count = 0, periodOf] of periods) {
    const seen = new Set<number>();
    for (const snapshot of newestFirst) {
      const period = periodOf(snapshot.createdAt);
      if (seen.has(period)) continue;
      if (seen.size >= count) break;
      seen.add(period);
      kept.add(snapshot);
    }
  }
  return newestFirst.filter((snapshot) => !kept.has(snapshot));
}
