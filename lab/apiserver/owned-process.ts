import { open, readFile } from 'node:fs/promises';
import { execa } from 'execa';

/** A server process that ends with this one, however this one ends. Its output goes to a file. */
export interface OwnedProcess {
  /** Rejects with the end of the log as soon as the process ends by itself. */
  readonly ended: Promise<never>;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const STOP_TIMEOUT_MS = 5_000;
/** Garbage collection would take a quarter of these processes' time. They live for minutes, and memory is plentiful. */
const GO_ENVIRONMENT = { GOGC: '400' };

/** Starts `file`. `setpriv` makes the kernel kill it when this process ends, which no handler could guarantee. */
export async function startOwned(
  file: string,
  args: readonly string[],
  logPath: string,
): Promise<OwnedProcess> {
  const log = await open(logPath, 'a');
  const child = execa('setpriv', ['--pdeathsig', 'KILL', file, ...args], {
    stdin: 'ignore',
    env: GO_ENVIRONMENT,
    stdout: { file: logPath, append: true },
    stderr: { file: logPath, append: true },
    forceKillAfterDelay: STOP_TIMEOUT_MS,
    reject: false,
  });
  await log.close();
  let stopping = false;
  const ended = child.then(async (result) => {
    const tail = (await readFile(logPath, 'utf8').catch(() => '')).split('\n').slice(-15).join('\n');
    throw new Error(
      `${file} ended (${result.exitCode ?? result.signal ?? result.shortMessage})\n${stopping ? '' : tail}`,
    );
  });
  ended.catch(() => {});
  return {
    ended,
    pid: child.pid,
    async stop() {
      stopping = true;
      child.kill('SIGTERM');
      await child;
    },
  };
}
