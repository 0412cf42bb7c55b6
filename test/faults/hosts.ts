import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

const FENCE = join(import.meta.dirname, '../../ansible/files/fence');
/** Exit code of the fence for a superseded run. */
export const STALE_RUN = 82;

export type Run = readonly [cluster: string, sequence: string, attempt: string, pod: string];

/** Directories that represent hosts, changed only through the real fence. */
export interface Hosts {
  /** Takes a host and runs a command on it; resolves to the exit code. `kill` ends the connection and the command. */
  make(ip: string, run: Run): Running;
  /** Runs the same command without taking the host, as a superseded run does that was not notified. */
  stray(ip: string, run: Run): Running;
  /** Takes a host, wipes it and releases it. */
  reset(ip: string, run: Run): Running;
  /** Takes a host and runs a command that never ends. */
  hang(ip: string, run: Run): Running;
  /** Returns the log of the host, in order: `made CLUSTER SEQUENCE ATTEMPT POD`, `reset …`. */
  log(ip: string): Promise<string[]>;
  owner(ip: string): Promise<{ clusterId: string; released: boolean } | undefined>;
  /** Returns the ids of clusters whose leftovers are on the host. */
  remains(ip: string): Promise<string | undefined>;
  remove(): Promise<void>;
}

export interface Running {
  readonly exit: Promise<number>;
  /** Resolves when the command on the host has started, or when the process has ended. */
  readonly begun: Promise<void>;
  kill(): void;
}

export async function createHosts(parent: string): Promise<Hosts> {
  const root = await mkdtemp(join(parent, 'hosts-'));
  const made = new Set<string>();

  const at = async (ip: string): Promise<string> => {
    const dir = join(root, ip);
    if (!made.has(ip)) await mkdir(dir, { recursive: true });
    made.add(ip);
    return dir;
  };

  /** Runs `script` with the fence as $F, the run as $RUN and the host's directory as $H. */
  function start(ip: string, run: Run, script: string): Running {
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<number>();
    let kill = () => {};
    void at(ip).then((dir) => {
      const child = spawn('/bin/sh', ['-c', script], {
        env: {
          PATH: process.env['PATH'],
          MATRYOSHKA_FENCE_ROOT: dir,
          MATRYOSHKA_FENCE_WAIT: '10',
          F: FENCE,
          H: dir,
          ID: run[0],
          RUN: run.join(' '),
        },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      });
      kill = () => {
        try {
          if (child.pid) process.kill(-child.pid, 'SIGKILL');
        } catch {}
      };
      child.stdout.on('data', (text: Buffer) => {
        if (text.includes('begun')) begun.resolve();
      });
      child.once('exit', (code) => {
        begun.resolve();
        ended.resolve(code ?? 137);
      });
      child.once('error', ended.reject);
    }, ended.reject);
    return { exit: ended.promise, begun: begun.promise, kill: () => kill() };
  }

  const read = (ip: string, file: string): Promise<string | undefined> =>
    readFile(join(root, ip, file), 'utf8').catch(() => undefined);

  return {
    make: (ip, run) =>
      start(
        ip,
        run,
        '$F take $RUN >/dev/null && $F $RUN -c "echo made $RUN >> $H/log; echo $ID > $H/remains"',
      ),
    stray: (ip, run) => start(ip, run, '$F $RUN -c "echo stray $RUN >> $H/log"'),
    reset: (ip, run) =>
      start(
        ip,
        run,
        '$F take $RUN >/dev/null && $F $RUN -c "echo reset $RUN of \\$(cat $H/remains 2>/dev/null) >> $H/log; rm -f $H/remains; $F release $RUN"',
      ),
    // The command reads from a pipe without a writer, so it waits without a timer until it is killed.
    hang: (ip, run) =>
      start(
        ip,
        run,
        '$F take $RUN >/dev/null && { [ -p $H/never ] || mkfifo $H/never; $F $RUN -c "echo hangs $RUN >> $H/log; echo $ID > $H/remains; echo begun; read line < $H/never; echo woke $RUN >> $H/log"; }',
      ),
    log: async (ip) => ((await read(ip, 'log')) ?? '').split('\n').filter((line) => line !== ''),
    async owner(ip) {
      const text = await read(ip, 'etc/matryoshka/owner.json');
      if (text === undefined) return undefined;
      const { clusterId, released } = JSON.parse(text);
      return { clusterId: String(clusterId), released: released === true };
    },
    remains: async (ip) => (await read(ip, 'remains'))?.trim(),
    async remove() {
      for (const ip of made) {
        const scopes = join(root, ip, 'run/matryoshka/scopes');
        for (const name of await readdir(scopes).catch(() => [])) {
          const group = Number(await readFile(join(scopes, name), 'utf8').catch(() => '0'));
          try {
            if (group > 1) process.kill(-group, 'SIGKILL');
          } catch {}
        }
      }
      await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    },
  };
}
