import { median } from './figures.ts';
import type { Run } from './run.ts';

/** Formats the milestones, one a line, with the median time and the difference from the one before. */
export function breakdown(title: string, runs: readonly Run[]): string[] {
  const names = new Set(runs.flatMap(({ milestones }) => milestones.map(({ what }) => what)));
  const reached = [...names]
    .map((what) => ({
      what,
      at: median(
        runs.flatMap(({ milestones }) => milestones.filter((one) => one.what === what).map(({ at }) => at)),
      ),
    }))
    .sort((a, b) => a.at - b.at);
  const lines = reached.map(({ what, at }, index) => {
    const since = at - (reached[index - 1]?.at ?? 0);
    return `  ${at.toFixed(1).padStart(6)} s  +${since.toFixed(1).padStart(5)} s  ${what}`;
  });
  return [`${title}, medians:`, ...lines];
}
