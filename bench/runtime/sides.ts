import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { goToolchain } from '#lab/artifacts/go.ts';
import { cacheDir } from '#lab/artifacts/places.ts';
import { announced, type Say } from '#lab/artifacts/progress.ts';

/** The program that runs a mode of the bench: ours, or the one on controller-runtime. */
export interface Side {
  readonly name: 'ours' | 'peer';
  readonly command: readonly [string, ...string[]];
}

export interface Running {
  /** Resolves to the rest of the next line with this start. */
  line(start: string): Promise<string>;
  /** Returns the resident memory in MiB, after a collection. */
  resident(): Promise<number>;
  stop(): Promise<void>;
}

const BUILD_MS = 15 * 60_000;
const LINE_MS = 5 * 60_000;
const peerDir = join(import.meta.dirname, '../peer-go');

/** Returns both sides; builds the peer if its sources have changed. */
export async function sides(say: Say): Promise<Side[]> {
  const binary = join(cacheDir, 'bin', 'bench-peer-go');
  const go = await goToolchain();
  await announced(say, 'go build bench/peer-go', () =>
    execa(go, ['build', '-o', binary, '.'], {
      cwd: peerDir,
      env: { GOTOOLCHAIN: 'auto', CGO_ENABLED: '0' },
      timeout: BUILD_MS,
      stdin: 'ignore',
    }),
  );
  return [
    { name: 'ours', command: [process.execPath, '--expose-gc', join(import.meta.dirname, 'ours.ts')] },
    { name: 'peer', command: [binary] },
  ];
}

/** Starts a side in a mode; `stop`, or the end of this process, ends it. */
export function start({ command, name }: Side, mode: string, kubeconfig: string): Running {
  const [file, ...args] = command;
  const child = execa(file, [...args, mode], {
    env: { KUBECONFIG: kubeconfig },
    stdout: 'pipe',
    stderr: 'inherit',
    stdin: 'pipe',
    buffer: false,
    reject: false,
    forceKillAfterDelay: 5_000,
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const wake = () => {
    for (const check of waiting) check();
  };
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    lines.push(line);
    wake();
  });
  let ended = false;
  void child.finally(() => {
    ended = true;
    wake();
  });
  const line = (begins: string) =>
    new Promise<string>((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        waiting.delete(check);
      };
      const check = () => {
        const at = lines.findIndex((text) => text.startsWith(begins));
        const [text] = at < 0 ? [] : lines.splice(at, 1);
        if (text === undefined && !ended) return;
        end();
        if (text === undefined) reject(new Error(`${name} ended before it said "${begins}"`));
        else resolve(text.slice(begins.length).trim());
      };
      const timer = setTimeout(() => {
        end();
        reject(new Error(`${name} did not say "${begins}" within ${LINE_MS / 1000} s`));
      }, LINE_MS);
      waiting.add(check);
      check();
    });
  return {
    line,
    async resident() {
      child.stdin.write('\n');
      await line('collected');
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) / 1024;
    },
    async stop() {
      child.kill('SIGTERM');
      await child;
    },
  };
}
