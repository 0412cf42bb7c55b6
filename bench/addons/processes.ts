import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const WAIT_MS = 30_000;
const run = promisify(execFile);

/** A separate process on some cores, ended with the scope that holds it. */
export interface Pinned extends AsyncDisposable {
  readonly child: ChildProcess;
}

/** Starts the process; resolves when it listens at `port` of an address. */
export async function pinned(
  cores: string,
  argv: readonly string[],
  port: number,
  host = '127.0.0.1',
): Promise<Pinned> {
  const child = spawn('taskset', ['-c', cores, ...argv], { stdio: ['ignore', 'ignore', 'inherit'] });
  await listening(port, host, () => child.exitCode === null);
  return {
    child,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGTERM')) await Promise.race([ended, sleep(5_000)]);
      child.kill('SIGKILL');
    },
  };
}

async function listening(port: number, host: string, isAlive: () => boolean): Promise<void> {
  for (const until = performance.now() + WAIT_MS; performance.now() < until; await sleep(50)) {
    if (!isAlive()) break;
    const socket = connect(port, host);
    const isOpen = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false,
      ),
      sleep(1_000, false),
    ]);
    socket.destroy();
    if (isOpen) return;
  }
  throw new Error(`nobody listens at ${host}:${port}`);
}

const childrenOf = async (pid: number): Promise<number[]> =>
  (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number);

/**
 * Returns the memory of a process and its children in MiB: `resident` counts shared pages once for each process,
 * `proportional` once in all. Source: proc(5), Rss and Pss of smaps_rollup.
 */
export async function memoryOf(pid = 0): Promise<{ resident: number; proportional: number }> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024;
  const all = [{ resident: mib('Rss'), proportional: mib('Pss') }];
  for (const child of await childrenOf(pid)) all.push(await memoryOf(child));
  const sum = (of: 'resident' | 'proportional') => all.reduce((total, one) => total + one[of], 0);
  return { resident: sum('resident'), proportional: sum('proportional') };
}

/**
 * Returns the processor seconds of a process and its children, and the kernel's part of them. Source: proc(5), in clock
 * ticks of 10 ms.
 */
export async function processorTimeOf(pid = 0): Promise<{ all: number; kernel: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  let [all, kernel] = [(Number(fields[11]) + Number(fields[12])) / 100, Number(fields[12]) / 100];
  for (const child of await childrenOf(pid)) {
    const used = await processorTimeOf(child);
    all += used.all;
    kernel += used.kernel;
  }
  return { all, kernel };
}

/** Returns the number of requests that wrk, on some cores, completed within some seconds. Throws if one failed. */
export async function requestsWithin(
  seconds: number,
  { cores, connections, url, host }: { cores: string; connections: number; url: string; host: string },
): Promise<number> {
  const argv = ['-c', cores, 'wrk', '-t1', `-c${connections}`, `-d${seconds}`, '--timeout', '30s'];
  argv.push('-H', `Host: ${host}`, url);
  const { stdout } = await run('taskset', argv, { timeout: (seconds + 30) * 1_000 });
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`${url}: ${stdout}`);
  return Number(/(\d+) requests in/.exec(stdout)?.[1]);
}
