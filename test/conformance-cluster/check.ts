import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UsageError } from '#base/errors.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { testImages } from '#lab/artifacts/test-images.ts';
import { ensureDocker } from '#lab/hosts/daemon.ts';
import { loadImages } from '#lab/hosts/load-images.ts';
import { labDir } from '#lab/hosts/places.ts';
import { kubeconfigOf } from '#lab/meta/cluster.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { objections, type SuiteReport } from '#lab/upstream/report.ts';
import { runSuite, type SuiteName, specsOf, suites } from '#lab/upstream/run.ts';
import { focusOn, specsIn } from '#lab/upstream/specs.ts';
import { NAME, nodeHosts } from './cluster.ts';

/** Reports, logs, and how far a run has come. */
export const reportsDir = join(labDir, 'upstream');

/** Lists of specs beside this file, and the suite of each. */
export const lists = {
  'kubeadm.txt': 'kubeadm',
  'specs.txt': 'kubernetes',
  'after-changes.txt': 'kubernetes',
} as const satisfies Record<string, SuiteName>;
export type ListName = keyof typeof lists;

const SUITE_MINUTES = 50;

const listed = async (list: ListName): Promise<string[]> =>
  specsIn(await readFile(join(import.meta.dirname, list), 'utf8'));

/** Builds the programs that run. Throws before it creates anything if a list names a spec that upstream does not have. */
export async function prepare(say: Say): Promise<void> {
  await ensureDocker(say);
  await testImages(say);
  const known = new Set<string>();
  for (const suite of new Set(Object.values(lists)))
    for (const name of await specsOf(suite, join(reportsDir, `${suite}-specs`), say)) known.add(name);
  for (const list of ['kubeadm.txt', 'specs.txt', 'after-changes.txt'] as const) {
    const strangers = (await listed(list)).filter((name) => !known.has(name));
    if (strangers.length > 0)
      throw new UsageError(`${list} has no specs of upstream:\n${strangers.join('\n')}`);
  }
}

/**
 * Runs a list against the cluster. Throws unless every spec has run and passed; the error has one line for each other spec.
 */
export async function checkList(
  meta: Meta,
  list: ListName,
  step: string,
  procs: number,
  say: Say,
): Promise<string> {
  const suite = lists[list];
  const names = await listed(list);
  const dir = join(reportsDir, step.replaceAll(/[^a-z0-9]+/g, '-'));
  const report = await run(meta, suite, focusOn(suites[suite].title, names), dir, procs, say);
  const wrong = objections(report, names);
  if (wrong.length > 0)
    throw new UsageError(
      `${step}: ${wrong.length} of ${names.length} specs:\n${wrong.join('\n')}\n${dir}/run.log`,
    );
  return `${names.length} specs of ${suites[suite].program} passed`;
}

/** Runs the specs of the conformance suite that match a regular expression, and prints the result of each. */
export async function tryFocus(meta: Meta, focus: string, procs: number, say: Say): Promise<string[]> {
  const dir = join(reportsDir, 'focus');
  const { specs, failures } = await run(meta, 'kubernetes', focus, dir, procs, say);
  const ran = specs.filter(({ state, message }) => state !== 'skipped' || message !== '');
  const known = new Set(await listed('specs.txt'));
  return [
    ...failures,
    ...ran.map(({ name, state, seconds, message }) => {
      const isNew = state === 'passed' && !known.has(name) ? ' (not listed)' : '';
      const why = state === 'passed' ? '' : `: ${message.split('\n')[0]}`;
      return `${state}${isNew}\t${seconds.toFixed(1)} s\t${name}${why}`;
    }),
  ];
}

async function run(
  meta: Meta,
  suite: SuiteName,
  focus: string,
  dir: string,
  procs: number,
  say: Say,
): Promise<SuiteReport> {
  if (suite === 'kubernetes') await loadImages(await nodeHosts(meta), await testImages(say), say);
  // Fetched each time: the kubeconfig points at one control plane, and changes may have replaced that host.
  const kubeconfigPath = join(reportsDir, 'kubeconfig');
  await writeFile(kubeconfigPath, await kubeconfigOf(meta, NAME), { mode: 0o600 });
  const report = await runSuite(
    suite,
    { kubeconfigPath, focus, procs, dir, timeoutMinutes: SUITE_MINUTES },
    say,
  );
  const rows = report.specs
    .filter(({ state, message }) => state !== 'skipped' || message !== '')
    .sort((a, b) => b.seconds - a.seconds)
    .map(({ name, state, seconds }) => `${seconds.toFixed(1)}\t${state}\t${name}\n`);
  await writeFile(join(dir, 'results.tsv'), rows.join(''));
  return report;
}
