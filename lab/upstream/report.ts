import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';

/** Spec in a report of ginkgo. */
export interface SpecResult {
  readonly name: string;
  /** ginkgo's state: `passed`, `failed`, `skipped`, `timedout`, … */
  readonly state: string;
  readonly seconds: number;
  /** The reason why it failed or skipped itself. */
  readonly message: string;
}

export interface SuiteReport {
  readonly suite: string;
  readonly specs: readonly SpecResult[];
  /** Failures outside of any spec, for example before the first one. */
  readonly failures: readonly string[];
}

/** The parts of ginkgo's JSON report (`types.Report`) that are used. */
const reportSchema = z.array(
  z.object({
    SuiteDescription: z.string(),
    SpecialSuiteFailureReasons: z.array(z.string()).nullish(),
    SpecReports: z
      .array(
        z.object({
          ContainerHierarchyTexts: z.array(z.string()).nullish(),
          LeafNodeType: z.string(),
          LeafNodeText: z.string(),
          State: z.string(),
          /** Nanoseconds. */
          RunTime: z.number(),
          Failure: z.object({ Message: z.string().optional() }).optional(),
        }),
      )
      .nullish(),
  }),
);

/** Parses the JSON report of one suite. Throws if it is not valid, or has another number of suites. */
export function reportFrom(text: string): SuiteReport {
  const [report, ...others] = reportSchema.parse(JSON.parse(text));
  if (!report || others.length > 0) throw new Error('the report is not of one suite');
  const all = (report.SpecReports ?? []).map(
    ({ ContainerHierarchyTexts, LeafNodeType, LeafNodeText, State, RunTime, Failure }) => ({
      type: LeafNodeType,
      name: [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' '),
      state: State,
      seconds: RunTime / 1e9,
      message: Failure?.Message ?? '',
    }),
  );
  const outside = all.filter(({ type, state }) => type !== 'It' && state !== 'passed' && state !== 'skipped');
  const failures = [
    ...(report.SpecialSuiteFailureReasons ?? []),
    ...outside.map(({ type, message }) => `${type}: ${message}`),
  ];
  return {
    suite: report.SuiteDescription,
    specs: all.filter(({ type }) => type === 'It'),
    // Each of several processes reports the same, in colours.
    failures: [...new Set(failures.map((text) => firstLine(stripVTControlCharacters(text))))],
  };
}

/** Lists reasons why the listed specs have not all passed, a line each. A skipped spec counts as well. */
export function objections({ specs, failures }: SuiteReport, listed: readonly string[]): string[] {
  const found = new Map(specs.map((spec) => [spec.name, spec]));
  return [
    ...failures,
    ...listed.flatMap((name) => {
      const spec = found.get(name);
      if (spec?.state === 'passed') return [];
      const why = firstLine(spec?.message ?? '');
      return [`${spec?.state ?? 'not there'}: ${name}${why === '' ? '' : `: ${why}`}`];
    }),
  ];
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';
