/** Answers of a host: the `@key value` lines of the checks' scripts, by key. */
export interface Said {
  /** Returns the first value of a key, trimmed; empty if the host gave none. */
  text(key: string): string;
  /** Returns the first value as a number; NaN if the host gave none, so that every comparison with it fails. */
  number(key: string): number;
  all(key: string): readonly string[];
  has(key: string): boolean;
}

/** Limits of an answer, because a host may print anything. */
const MAX_VALUE = 2_000;
const MAX_VALUES = 5_000;

/** Parses the output of the script; ignores other lines (a banner, a profile's output). */
export function said(output: string): Said {
  const values = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const match = /^@([A-Za-z]+) ?(.*)$/.exec(line.trimEnd());
    if (match?.[1] === undefined) continue;
    const known = values.get(match[1]) ?? [];
    // Messages quote values, and appear in logs and on terminals.
    if (known.length < MAX_VALUES)
      known.push((match[2] ?? '').slice(0, MAX_VALUE).replaceAll(/\p{C}/gu, ' '));
    values.set(match[1], known);
  }
  const text = (key: string): string => values.get(key)?.[0]?.trim() ?? '';
  return {
    text,
    number: (key) => Number(text(key) || Number.NaN),
    all: (key) => values.get(key) ?? [],
    has: (key) => values.has(key),
  };
}
