import type { Clock } from '#base/clock.ts';

/** Terminal, time and interruption of a command. */
export interface Io {
  /** Prints a line of the result. */
  print(line: string): void;
  /** Prints a line about the work, which is not part of the result. */
  note(line: string): void;
  /** Whether a user sees the output and can answer. */
  isTerminal: boolean;
  /** Asks a question in the terminal; `isSecret` hides the answer. */
  ask(question: string, isSecret?: boolean): Promise<string>;
  /** Reads standard input to its end. */
  input(): Promise<string>;
  clock: Clock;
  /** Aborts when the user interrupts the command. */
  signal: AbortSignal;
}
