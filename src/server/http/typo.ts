/** A name with more changes does not count as a misspelling. */
const MOST = 2;

/**
 * Whether a name is a misspelling of another: other capitals or separators, or at most two letters that are changed,
 * missing, added or swapped (optimal string alignment).
 */
export function isTypoOf(name: string, known: string): boolean {
  const [a, b] = [name, known].map((text) => text.toLowerCase().replaceAll(/[-_]/g, ''));
  if (a === undefined || b === undefined || Math.abs(a.length - b.length) > MOST) return false;
  return distance(a, b) <= MOST;
}

function distance(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const changed = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(swapped ? Math.min(changed, (before[j - 2] ?? 0) + 1) : changed);
    }
    [before, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
