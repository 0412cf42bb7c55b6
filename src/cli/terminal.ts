import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '#base/clock.ts';
import { plainLines } from '#base/plain-text.ts';
import { CommandFailure } from './failure.ts';
import type { Io } from './io.ts';

/** Exit code of a command that Ctrl-C ends (bash, Exit Status: 128 and the number of the signal). */
const INTERRUPTED = 130;
const GRACE_MS = 1_000;

/** Asks in the terminal. Returns what the user types; nothing after Ctrl-D. */
async function ask(question: string, isSecret: boolean, signal: AbortSignal): Promise<string> {
  // readline writes the question and what is typed to its output; it erases what others wrote to the line.
  if (isSecret) process.stderr.write(question);
  const output = isSecret ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  // readline takes Ctrl-C from the terminal, which then sends no signal.
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await lines.question(question, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
    // Ctrl-D ends the input without an answer, and without a new line.
    if (!isSecret) process.stderr.write('\n');
    return '';
  } finally {
    lines.close();
    if (isSecret) process.stderr.write('\n');
  }
}

/** Returns the terminal of this process. */
export function terminalIo(): Io {
  const interrupted = new AbortController();
  // The listener stays: libraries that restore the cursor end the process if no other listener is left.
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (interrupted.signal.aborted) process.exit(INTERRUPTED);
      process.exitCode = INTERRUPTED;
      interrupted.abort(new CommandFailure('interrupted', INTERRUPTED));
      // A command that waits for something else ends all the same.
      setTimeout(() => process.exit(INTERRUPTED), GRACE_MS).unref();
    });
  const { signal } = interrupted;
  return {
    print: (line) => process.stdout.write(`${plainLines(line)}\n`),
    note: (line) => process.stderr.write(`${plainLines(line)}\n`),
    isTerminal: process.stdout.isTTY && process.stdin.isTTY,
    ask: (question, isSecret = false) => ask(question, isSecret, signal),
    input: () => text(process.stdin),
    clock: systemClock,
    signal,
  };
}
