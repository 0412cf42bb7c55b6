import { Command } from '@commander-js/extra-typings';
import type { z } from 'zod';
import { configFrom, flagsOf } from '../options.ts';
import { EXIT } from './failure.ts';
import type { Io } from './io.ts';
import { connectionOptions } from './options.ts';

/** Command that talks to the REST API of a server. What it runs is imported only if it is called. */
export interface ClientCommand<S extends z.ZodObject> {
  /** Arguments, such as `<cluster>`. */
  usage: string;
  summary: string;
  options: S;
  /** Lines that a user can type. */
  examples: readonly string[];
  run(args: readonly string[], options: Readonly<z.output<S>>, io: Io): Promise<void>;
}

/** Options that each command has, and that environment variables may give. */
export const CONNECTION: ReadonlySet<string> = new Set(Object.keys(connectionOptions.shape));

/** Returns the words of a command line with the command first: flags of the connection may stand before it, as with kubectl. */
export function commandFirst(words: readonly string[]): string[] {
  const flags = flagsOf(connectionOptions, CONNECTION);
  let count = 0;
  for (;;) {
    const [name, value] = (words[count] ?? '').split('=');
    if (!flags.some(({ long, short }) => name === long || name === short)) break;
    count += value === undefined ? 2 : 1;
  }
  const [command, ...rest] = words.slice(count);
  return command === undefined ? [...words] : [command, ...words.slice(0, count), ...rest];
}

export const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  0: 'success',
  [EXIT.failed]: 'the operation failed',
  [EXIT.usage]: 'a flag, an argument or a file is wrong',
  [EXIT.refused]: 'the server refused the request',
  [EXIT.notAllowed]: 'the token is missing, invalid, or lacks a right',
  [EXIT.unavailable]: 'no server answers, or the server cannot work',
  [EXIT.timeout]: '`--timeout` has passed; the operation goes on',
};

const examples = new WeakMap<Command, readonly string[]>();
export const examplesOf = (command: Command): readonly string[] => examples.get(command) ?? [];

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join('\n');

/** Returns a command whose action runs with the terminal of this process. */
export function clientCommand<S extends z.ZodObject>(name: string, it: ClientCommand<S>): Command {
  const command = new Command(name).summary(it.summary).description(`${it.summary}.`);
  const args = it.usage.split(' ').filter((part) => part !== '');
  for (const arg of args) command.argument(arg);
  for (const option of flagsOf(it.options, CONNECTION)) command.addOption(option);
  examples.set(command, it.examples);
  const meanings = Object.entries(EXIT_MEANINGS).filter(
    ([code]) => 'timeout' in it.options.shape || Number(code) !== EXIT.timeout,
  );
  const codes = meanings.map(([code, meaning]) => `${code}  ${meaning.replaceAll('`', '')}`);
  command.addHelpText('after', `\nExamples:\n${indented(it.examples)}\n\nExit codes:\n${indented(codes)}`);
  command.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT.usage));
  const run = async (given: readonly unknown[], options: unknown) => {
    process.exitCode = EXIT.usage;
    const config = configFrom(it.options, options);
    process.exitCode = EXIT.failed;
    const { terminalIo } = await import('./terminal.ts');
    await it.run(
      given.flatMap((one) => (typeof one === 'string' ? [one] : [])),
      config,
      terminalIo(),
    );
    process.exitCode = 0;
  };
  command.action((...all: unknown[]) => run(all.slice(0, args.length), all[args.length]));
  return command;
}

export const CLUSTER = '<cluster>';
