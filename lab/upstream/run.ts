import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensureBinaries } from '../artifacts/binaries.ts';
import { announced, type Say } from '../artifacts/progress.ts';
import { kubectlPath } from '../kubectl.ts';
import { reportFrom, type SuiteReport } from './report.ts';

/** Upstream's suites, of the Kubernetes that the lab installs: each program, and its suite's name. */
export const suites = {
  kubernetes: { program: 'e2e.test', title: 'Kubernetes e2e suite' },
  kubeadm: { program: 'e2e_kubeadm.test', title: 'E2EKubeadm suite' },
} as const;
export type SuiteName = keyof typeof suites;

export interface SuiteRun {
  readonly kubeconfigPath: string;
  /** Go regular expression for suite and spec. */
  readonly focus: string;
  /** Number of concurrent specs. Specs with the label Serial run alone, after the others. */
  readonly procs: number;
  /** Folder of `report.json` and `run.log`. */
  readonly dir: string;
  readonly timeoutMinutes: number;
}

/** Seconds that a suite has, after its time is up, to clean up and report. */
const GRACE_SECONDS = 120;
const DRY_RUN_MS = 120_000;

/** Runs specs of a suite against a cluster, from this machine. Resolves with their report, whatever the result. */
export async function runSuite(
  suite: SuiteName,
  { kubeconfigPath, focus, procs, dir, timeoutMinutes }: SuiteRun,
  say: Say,
): Promise<SuiteReport> {
  const own = [
    `--kubeconfig=${kubeconfigPath}`,
    `--kubectl-path=${kubectlPath}`,
    '--provider=skeleton',
    // All logs of the cluster after each failure would be too long to read.
    '--dump-logs-on-failure=false',
    // The default is half an hour, and the cluster is ready already.
    '--node-schedulable-timeout=3m',
  ];
  const options = [
    `--procs=${procs}`,
    `--timeout=${timeoutMinutes}m`,
    `--grace-period=${GRACE_SECONDS}s`,
    `--focus=${focus}`,
  ];
  return ginkgo(suite, options, own, dir, (timeoutMinutes * 60 + 2 * GRACE_SECONDS) * 1000, say);
}

/** Lists the names of all specs of a suite, without a cluster. */
export async function specsOf(suite: SuiteName, dir: string, say: Say): Promise<string[]> {
  const { specs } = await ginkgo(suite, ['--dry-run', '--procs=1'], [], dir, DRY_RUN_MS, say);
  return specs.map(({ name }) => name);
}

async function ginkgo(
  suite: SuiteName,
  options: readonly string[],
  own: readonly string[],
  dir: string,
  timeoutMs: number,
  say: Say,
): Promise<SuiteReport> {
  const { program } = suites[suite];
  const binaries = await ensureBinaries('kubernetes-e2e', ['ginkgo', program], say);
  await mkdir(dir, { recursive: true });
  const reportPath = join(dir, 'report.json');
  const logPath = join(dir, 'run.log');
  await rm(reportPath, { force: true });
  const args = [
    '--no-color',
    '--silence-skips',
    '--json-report=report.json',
    `--output-dir=${dir}`,
    ...options,
  ];
  const log = { file: logPath };
  await announced(say, program, () =>
    execa(
      join(binaries, 'ginkgo'),
      ['run', ...args, join(binaries, program), '--', ...own],
      // The report has the failures. A run that was cut off has no report.
      { stdin: 'ignore', stdout: log, stderr: log, buffer: false, timeout: timeoutMs, reject: false },
    ),
  );
  const text = await readFile(reportPath, 'utf8').catch(() => '');
  if (text === '') throw new Error(`${program} has left no report; see ${logPath}`);
  return reportFrom(text);
}
