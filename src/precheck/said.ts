/** What a host said of itself: the `@key value` lines of the checks' scripts, by key. */
export interface Said {
  /** The first value of a key, without white space around it; empty when the host did not say. */
  text(key: string): string;
  /** The first value as a number; NaN when the host did not say, so that every comparison with it fails. */
  number(key: string): number;
  all(key: string): readonly string[];
  has(key: string): boolean;
}

/** Reads what the script printed; lines that are none of its own (a banner, a profile's output) are passed over. */
export function said(output: string): Said {
  const values = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const match = /^@([A-Za-z]+) ?(.*)$/.exec(line.trimEnd());
    if (match?.[1] !== undefined) values.set(match[1], [...(values.get(match[1]) ?? []), match[2] ?? '']);
  }
  const text = (key: string): string => values.get(key)?.[0]?.trim() ?? '';
  return {
    text,
    number: (key) => Number(text(key) || Number.NaN),
    all: (key) => values.get(key) ?? [],
    has: (key) => values.has(key),
  };
}
