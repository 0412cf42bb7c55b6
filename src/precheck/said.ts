/** What a host said of itself: the `@key value` lines of the checks' scripts, by key. */
export interface Said {
  /** The first value of a key, without white space around it; empty when the host did not say. */
  text(key: string): string;
  /** The first value as a number; NaN when the host did not say, so that every comparison with it fails. */
  number(key: string): number;
  all(key: string): readonly string[];
  has(key: string): boolean;
}

/** A host may say anything: what is longer, or more often said, is no answer to a check. */
const MAX_VALUE = 2_000;
const MAX_VALUES = 5_000;

/** Reads what the script printed; lines that are none of its own (a banner, a profile's output) are passed over. */
export function said(output: string): Said {
  const values = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const match = /^@([A-Za-z]+) ?(.*)$/.exec(line.trimEnd());
    if (match?.[1] === undefined) continue;
    const known = values.get(match[1]) ?? [];
    // Messages quote values, and stand in logs and on terminals.
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
