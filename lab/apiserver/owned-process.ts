import { open, readFile } from 'node:fs/promises';
import { execa } from 'execa';

/** A server process of ours: its output goes to a file, and it dies with us, however we die. */
export interface OwnedProcess {
  /** Rejects with the end of the log as soon as the process ends by itself. */
  readonly ended: Promise<never>;
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const STOP_TIMEOUT_MS = 5_000;
/** These live for minutes on machines with gigabytes to spare: a quarter of their time would go into collections. */
const GO_ENVIRONMENT = { GOGC: '400' };

/** Starts `file`; `setpriv` asks the kernel to kill it when this process goes, which no handler of ours could promise. */
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
