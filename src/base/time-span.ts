const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** Returns a time span with its one or two largest units, such as `5d 3h`. */
export function spanOf(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1_000));
  const first = UNITS.findIndex(([, seconds]) => rest >= seconds);
  if (first === -1) return '0s';
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS.slice(first, first + 2)) {
    const count = Math.floor(rest / seconds);
    rest -= count * seconds;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(' ');
}

/** Returns the time since then; empty if it is not a time. */
export function ageOf(time: string | undefined, now: Date | number): string {
  const since = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(since) ? '' : spanOf(Number(now) - since);
}
