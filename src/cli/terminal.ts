import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '#base/clock.ts';
import type { Io } from './io.ts';

async function ask(question: string, isSecret: boolean, signal: AbortSignal): Promise<string> {
  process.stderr.write(question);
  // readline echoes what is typed to its output.
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    return await lines.question('', { signal });
  } finally {
    lines.close();
    if (isSecret) process.stderr.write('\n');
  }
}

/** Returns the terminal of this process. */
export function terminalIo(): Io {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => interrupted.abort(new Error('interrupted')));
  const { signal } = interrupted;
  return {
    print: (line) => process.stdout.write(`${line}\n`),
    note: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stdout.isTTY && process.stdin.isTTY,
    ask: (question, isSecret = false) => ask(question, isSecret, signal),
    input: () => text(process.stdin),
    clock: systemClock,
    signal,
  };
}
