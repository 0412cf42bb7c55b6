import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { freePorts } from '#lab/apiserver/ports.ts';

const dist = join(import.meta.dirname, '../../dist');
const SITE = JSON.stringify({ baseUrl: 'http://127.0.0.1', releases: { 'v1.34.4': {} } });
const READY_MS = 120_000;
/** Flags as in deploy/operator.Dockerfile. */
const FLAGS = ['--max-old-space-size=333', '--max-semi-space-size=4'];
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', NODE_ENV: 'production' };
const TICKS_PER_SECOND = 100;

/** The shipped operator, in a separate process. */
export interface Operator {
  /** Seconds from the start of the process until it is ready, with every cache synced. */
  readonly readySeconds: number;
  residentMiB(): Promise<number>;
  /** Returns the processor time so far, in seconds. */
  cpuSeconds(): Promise<number>;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

export async function startOperator(
  kubeconfigPath: string,
  namespace: string,
  identity: string,
): Promise<Operator> {
  const siteDir = await mkdtemp(join(tmpdir(), 'matryoshka-fleet-'));
  await writeFile(join(siteDir, 'artifacts.json'), SITE);
  const [port = 0] = await freePorts(1);
  const args = [
    ...FLAGS,
    join(dist, 'matryoshka.js'),
    'controller',
    `--kubeconfig=${kubeconfigPath}`,
    `--site-dir=${siteDir}`,
    `--probe-port=${port}`,
    `--namespace=${namespace}`,
    `--reports-namespace=${namespace}`,
    `--identity=${identity}`,
    '--log-level=error',
    // Kubeconfigs of simulated clusters point at no server.
    '--health-interval-seconds=0',
    // No limit: the bench measures the operator, not the wait in the queue.
    '--max-operations=100000',
  ];
  const began = performance.now();
  const child = execa(join(dist, 'node'), args, {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
    env: ENVIRONMENT,
    reject: false,
    forceKillAfterDelay: 20_000,
  });
  let ended = false;
  void child.finally(() => {
    ended = true;
  });
  const proc = (file: string) => readFile(`/proc/${child.pid}/${file}`, 'utf8');
  while (!(await ready(`http://127.0.0.1:${port}/readyz`))) {
    if (ended) throw new Error('the operator ended');
    if (performance.now() - began > READY_MS) throw new Error(`not ready within ${READY_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    readySeconds: (performance.now() - began) / 1000,
    residentMiB: async () => Number(/^VmRSS:\s*(\d+) kB$/m.exec(await proc('status'))?.[1]) / 1024,
    cpuSeconds: async () => {
      const fields = (await proc('stat')).replace(/^.*\) /, '').split(' ');
      return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
    },
    kill: async (signal) => {
      child.kill(signal);
      await child;
      await rm(siteDir, { recursive: true, force: true });
    },
  };
}

const ready = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    ({ status }) => status === 200,
    () => false,
  );
