import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensureBinaries } from '../artifacts/binaries.ts';
import { announced, type Say } from '../artifacts/progress.ts';

/** Case of cyclonus: policies, and whether they gave each of nine pods the expected connections to the others. */
export interface PolicyCase {
  /** Several cases may have the same name. */
  readonly name: string;
  readonly passed: boolean;
}

/**
 * Tags of the cases that run: changes of policies and labels, contradicting policies, blocks of addresses, and targets of a
 * policy. All cases would take hours, because each probe is a `kubectl exec`.
 */
const TAGS = ['action', 'conflict', 'peer-ipblock', 'target'];
const LEFT_OUT = [
  ...['sctp', 'udp', 'multi-peer', 'upstream-e2e', 'example', 'end-port', 'namespaces-by-default-label'],
];
const options = [
  `--include=${TAGS.join()}`,
  `--exclude=${LEFT_OUT.join()}`,
  // Three namespaces have three pods with one port each: 81 probes a step, of which its client sends five a second.
  '--server-protocol=TCP',
  '--server-port=80',
  '--destination-type=pod-ip',
  '--job-timeout-seconds=1',
  '--perturbation-wait-seconds=3',
  '--retries=2',
  '--pod-creation-timeout-seconds=180',
  '--cleanup-namespaces',
  // A pod's traffic to itself never leaves it, so no policy can forbid it (kubernetes.io, Network Policies).
  '--ignore-loopback',
];
const TIMEOUT_MS = 40 * 60_000;
const NAMES_MS = 60_000;

/** Lists the names of the cases that run, in order, without a cluster. */
export async function policyCases(dir: string, say: Say): Promise<string[]> {
  const own = ['--mock', '--perturbation-wait-seconds=0'];
  return (await cyclonus(own, {}, dir, NAMES_MS, say)).map(({ name }) => name).sort();
}

/** Runs the cases against a cluster, from this machine. Its nodes must have agnhost. Throws if there is no report. */
export async function runPolicyCases(kubeconfigPath: string, dir: string, say: Say): Promise<PolicyCase[]> {
  return cyclonus([], { KUBECONFIG: kubeconfigPath }, dir, TIMEOUT_MS, say);
}

async function cyclonus(
  own: readonly string[],
  env: Readonly<Record<string, string>>,
  dir: string,
  timeout: number,
  say: Say,
): Promise<PolicyCase[]> {
  const folder = await ensureBinaries('cyclonus', ['cyclonus'], say);
  await mkdir(dir, { recursive: true });
  const reportPath = join(dir, 'report.xml');
  const log = { file: join(dir, 'run.log') };
  await rm(reportPath, { force: true });
  await announced(say, 'cyclonus', () =>
    execa(
      join(folder, 'cyclonus'),
      ['generate', ...options, ...own, `--junit-results-file=${reportPath}`],
      // The report has the failures. A run that ended early has no report.
      { env, stdin: 'ignore', stdout: log, stderr: log, buffer: false, timeout, reject: false },
    ),
  );
  const text = await readFile(reportPath, 'utf8').catch(() => '');
  if (text === '') throw new Error(`cyclonus has left no report; see ${log.file}`);
  return casesFrom(text);
}

/** Parses a report in cyclonus' JUnit XML: cases in order, each with a failure or empty. */
export function casesFrom(xml: string): PolicyCase[] {
  return [...xml.matchAll(/<testcase\b[^>]*?\sname="([^"]*)"[^>]*>(\s*<failure\b)?/g)].map(
    ([, name = '', failure]) => ({ name: unescaped(name), passed: failure === undefined }),
  );
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d+)|(\w+));/g, (all, code: string | undefined, name: string | undefined) =>
    code === undefined ? (NAMED[name ?? ''] ?? all) : String.fromCodePoint(Number(code)),
  );

/** Lists differences, a line each: listed cases that did not run and pass, and cases that are not in the list. */
export function policyObjections(cases: readonly PolicyCase[], listed: readonly string[]): string[] {
  const counted = (names: readonly string[], name: string) => names.filter((one) => one === name).length;
  const ran = cases.map(({ name }) => name);
  return [
    ...cases.filter(({ passed }) => !passed).map(({ name }) => `failed: ${name}`),
    ...[...new Set([...listed, ...ran])].flatMap((name) => {
      const [wanted, found] = [counted(listed, name), counted(ran, name)];
      return wanted === found ? [] : [`listed ${wanted} times, run ${found} times: ${name}`];
    }),
  ];
}
