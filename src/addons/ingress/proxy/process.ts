import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Clock } from '#base/clock.ts';
import { sleep } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { configFile, masterSocket, type ProxyPaths } from './locations.ts';
import { ask, RELOAD_MS } from './runtime-api.ts';

const START_MS = 30_000;
const POLL_MS = 20;

/** HAProxy in master-worker mode: the master stays, a reload replaces the worker. */
export interface HaproxyProcess {
  /** Resolves once the process has ended. */
  readonly ended: Promise<void>;
  /** Reloads haproxy.cfg; open connections continue in the previous process. Rejects with HAProxy's message. */
  reload(): Promise<void>;
  /** Closes the listeners; the process ends when the last request is answered. */
  drain(): void;
  kill(): void;
}

/** Starts HAProxy on existing files; resolves when it serves. */
export async function startHaproxy(
  binary: string,
  paths: ProxyPaths,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<HaproxyProcess> {
  const master = masterSocket(paths);
  // The kernel ends HAProxy with this process, even after a SIGKILL.
  const args = ['--pdeathsig=TERM', binary, '-W', '-db', '-S', `${master},mode,600`, '-f', configFile(paths)];
  const child = spawn('setpriv', args, { stdio: ['ignore', 'inherit', 'pipe'] });
  let isEnding = false;
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line);
    said.splice(0, said.length - 20);
    // HAProxy also alerts when a Service has no endpoints.
    if (line.includes('[ALERT]') && !isEnding && !line.includes('has no server available'))
      log.error({ line }, 'haproxy says');
    else log.debug({ line }, 'haproxy says');
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      said.push(error.message);
      resolve();
    });
  });
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  const until = clock.monotonicMs() + START_MS;
  while (!(await answers(paths))) {
    if (hasEnded || clock.monotonicMs() > until) {
      child.kill('SIGKILL');
      throw new Error(`haproxy does not start: ${said.join(' ') || 'it says nothing'}`);
    }
    await sleep(POLL_MS, undefined, clock);
  }
  return {
    ended,
    async reload() {
      const answer = await ask(master, 'reload', undefined, RELOAD_MS);
      if (!answer.startsWith('Success=1')) throw new Error(`haproxy refuses its configuration: ${answer}`);
    },
    drain: () => void child.kill('SIGUSR1'),
    kill() {
      isEnding = true;
      child.kill('SIGTERM');
    },
  };
}

const answers = (paths: ProxyPaths): Promise<boolean> =>
  ask(paths.adminSocket, 'show version').then(
    (version) => version !== '',
    () => false,
  );

/** Checks haproxy.cfg with HAProxy; returns HAProxy's complaint. */
export async function problemOfConfig(binary: string, paths: ProxyPaths): Promise<string | undefined> {
  const child: ChildProcess = spawn(binary, ['-c', '-f', configFile(paths)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: START_MS,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stderr?.on('data', (text) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  return code === 0 ? undefined : said;
}
