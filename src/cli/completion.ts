import completions, { ShellCompDirective, script } from '@bomb.sh/tab';
import { followingOf } from '../options.ts';
import { allClusters } from './clusters.ts';
import { connectionOptions } from './options.ts';
import { withSession } from './session.ts';

/** Completion of commands, flags and names of clusters in bash, zsh, fish and PowerShell. */

/** The parts of a command that are completed. */
interface Completable {
  name(): string;
  description(): string;
  summary(): string;
  readonly options: readonly {
    long?: string | undefined;
    short?: string | undefined;
    description: string;
    required: boolean;
    optional: boolean;
  }[];
  readonly registeredArguments: readonly { name(): string }[];
  readonly commands: readonly Completable[];
}

const NAME = 'matryoshka';
const CLUSTER = 'cluster';
/** A user waits for the names. */
const NAMES_MS = 2_000;

/**
 * Prints the script that a shell loads. In bash, a second load does nothing: its constants cannot be set again. Bash completes
 * files only where the command says so, if they are its default.
 */
export function printScript(shell: string): void {
  if (shell === 'bash') process.stdout.write(`declare -F __${NAME}_complete > /dev/null || {\n`);
  script(shell, NAME, NAME);
  if (shell === 'bash') process.stdout.write(`complete -o default -F __${NAME}_complete ${NAME}\n}\n`);
}

/** Whether a file is the next word: after its flag, and a space or "=". */
function isFileNext(called: Completable, words: readonly string[]): boolean {
  const [before = '', last = ''] = words.slice(-2);
  const [flag = ''] = last.startsWith('-') && last.includes('=') ? last.split('=') : [before];
  const option = called.options.find(({ long, short }) => flag === long || flag === short);
  return option !== undefined && followingOf(option) === 'file';
}

/** Returns the names of the clusters of the user; none if the server does not answer soon. */
async function namesOfClusters(): Promise<string[]> {
  const late = new Promise<string[]>((resolve) => setTimeout(resolve, NAMES_MS, []).unref());
  const names = withSession(connectionOptions.parse({}), async (session) =>
    (await allClusters(session, session.namespace)).map(({ cluster }) => cluster.metadata.name),
  ).catch(() => []);
  return Promise.race([names, late]);
}

/** Prints what may follow the words of an unfinished command, as the script of the shell reads it. */
export async function complete(commands: readonly Completable[], words: readonly string[]): Promise<void> {
  const [first, ...rest] = words;
  const called = commands.find((command) => command.name() === first);
  if (called && isFileNext(called, words)) {
    process.stdout.write(`:${ShellCompDirective.ShellCompDirectiveDefault}\n`);
    return;
  }
  const takesCluster = called?.registeredArguments.some((argument) => argument.name() === CLUSTER) ?? false;
  // The cluster is the first argument, so names are needed for the second word alone.
  const names = takesCluster && rest.length === 1 ? await namesOfClusters() : [];
  const add = (command: Completable, path: string): void => {
    const target = completions.command(path, command.summary() || command.description());
    for (const option of command.options) {
      const { long, short, description, required, optional } = option;
      if (long === undefined) continue;
      const follows = followingOf(option);
      const values = follows === 'file' || follows === undefined ? [] : follows;
      const letter = short?.slice(1);
      // A handler tells the library that a value follows.
      const offer = (answer: (value: string, description: string) => void) => {
        for (const value of values) answer(value, '');
      };
      if (required || optional) target.option(long.slice(2), description, offer, letter);
      else if (letter === undefined) target.option(long.slice(2), description);
      else target.option(long.slice(2), description, letter);
    }
    for (const argument of command.registeredArguments)
      target.argument(argument.name(), (answer) => {
        if (argument.name() === CLUSTER) for (const name of names) answer(name, '');
      });
    for (const child of command.commands) add(child, `${path} ${child.name()}`);
  };
  for (const command of commands) add(command, command.name());
  completions.parse([...words]);
}
