import { readFile, writeFile } from 'node:fs/promises';

/** A figure, as printed and as stored in the baseline. Less is better by default. */
export interface Figure {
  readonly name: string;
  readonly ours: number;
  /** Value of the peer; without it only `ours` has a bound. */
  readonly peer?: number;
  /** Maximum of `ours`, or of its ratio to `peer`. */
  readonly bound: number;
  /** More is better: `bound` is the minimum. */
  readonly isMoreBetter?: boolean;
  /** Values of both sides for each run, in turn, if there were several. */
  readonly runs?: readonly { readonly ours: number; readonly peer: number }[];
}

/** Ratio from which a figure counts as worse; smaller differences between runs are chance. */
const WORSE = 1.1;

/** Returns the median; for an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  if (low === undefined || high === undefined) throw new Error('no values, so no median');
  return (low + high) / 2;
}

/** Formats `median (least–most)`, for people. */
export const spread = (values: readonly number[], digits = 1): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;

const ratioOf = ({ ours, peer }: Figure): number | undefined =>
  peer === undefined ? undefined : ours / peer;

/** Whether the figure misses its bound; a figure without a value does. */
export function isShort(figure: Figure): boolean {
  const { ours, bound, isMoreBetter = false } = figure;
  const value = ratioOf(figure) ?? ours;
  return isMoreBetter ? !(value >= bound) : !(value <= bound);
}

/** Formats name, ours, peer, ratio, bound and verdict. */
export function row(figure: Figure): string {
  const { name, ours, peer, bound } = figure;
  const ratio = ratioOf(figure);
  const verdict = isShort(figure) ? 'short' : 'ok';
  return [
    name,
    ours.toFixed(2),
    peer?.toFixed(2) ?? '-',
    ratio?.toFixed(2) ?? '-',
    bound.toFixed(2),
    verdict,
  ].join('\t');
}

/** Parses the rows of an earlier run by name: ours and the ratio, or `undefined` without one. */
function parsed(text: string): Map<string, { ours: number; ratio: number | undefined }> {
  const rows = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    rows.map((line) => {
      const [name = '', ours = '', , ratio = '-'] = line.split('\t');
      return [name, { ours: Number(ours), ratio: ratio === '-' ? undefined : Number(ratio) }];
    }),
  );
}

/**
 * Returns a line for each figure, or ratio, that is more than a tenth worse than the baseline in every run. Differences
 * within the spread of its runs do not count.
 */
export function worsened(figures: readonly Figure[], baseline: string): string[] {
  const before = parsed(baseline);
  return figures.flatMap((figure) => {
    const was = before.get(figure.name);
    if (!was) return [];
    const runs = figure.runs ?? [];
    const ratio = ratioOf(figure) ?? 0;
    const compared: [string, number, number | undefined, number[]][] = [
      [figure.name, figure.ours, was.ours, runs.map(({ ours }) => ours)],
      [`${figure.name}, ratio`, ratio, was.ratio, runs.map(({ ours, peer }) => ours / peer)],
    ];
    const isWorse = (is: number, old: number) => (figure.isMoreBetter ? is < old : is > old);
    const far = (old: number) => (figure.isMoreBetter ? old / WORSE : old * WORSE);
    return compared.flatMap(([what, is, old, each]) => {
      if (old === undefined || !isWorse(is, far(old)) || !each.every((one) => isWorse(one, old))) return [];
      const change = `${is > old ? '+' : ''}${((is / old - 1) * 100).toFixed(0)} %`;
      return [`worse: ${what}: ${old.toFixed(2)} → ${is.toFixed(2)} (${change})`];
    });
  });
}

/** Reads the committed rows; undefined if there are none yet. */
export const readBaseline = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch(() => undefined);

export const writeBaseline = (path: string, about: string, figures: readonly Figure[]): Promise<void> =>
  writeFile(path, `# ${about}\n${figures.map((figure) => `${row(figure)}\n`).join('')}`);

/** Replaces rows of the same names in place and adds others. The first line and all other rows stay. */
export async function amendBaseline(path: string, figures: readonly Figure[]): Promise<void> {
  const lines = ((await readBaseline(path)) ?? '').split('\n').filter((line) => line !== '');
  for (const figure of figures) {
    const at = lines.findIndex((line) => line.startsWith(`${figure.name}\t`));
    lines.splice(at < 0 ? lines.length : at, at < 0 ? 0 : 1, row(figure));
  }
  await writeFile(path, `${lines.join('\n')}\n`);
}
