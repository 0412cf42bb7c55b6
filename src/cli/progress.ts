import { Listr } from 'listr2';
import { plainText } from '#base/plain-text.ts';

export type End = 'finished' | 'failed' | 'left';

/** Shows the progress of an operation: its step, and the task of each host. */
export interface Progress {
  /** The operation is at this step, or waits for this. */
  step(text: string): void;
  /** A host begins or ends a task. */
  task(host: string, task: string, result: string): void;
  /** `left`: the operation goes on without the user. */
  end(how: End): Promise<void>;
}

const FAILURES = new Set(['failed', 'unreachable', 'error']);

/** Whether a result is a failure. That of a precheck has its reason: `error: Unreachable: …`. */
const isFailure = (result: string): boolean => FAILURES.has(result.split(':', 1)[0] ?? '');

/** Prints a line for each step and each failed task: for files, and for other programs. */
export function plainProgress(note: (line: string) => void): Progress {
  let last: string | undefined;
  return {
    step(text) {
      if (text === last) return;
      last = text;
      note(text);
    },
    task(host, task, result) {
      if (isFailure(result)) note(`${host}: ${task}: ${result}`);
    },
    end: async () => {},
  };
}

interface Line {
  title: string;
  skip(): void;
}

/** The first line, until the operation has a step. */
const STEP = 'The request waits for the operator';

const isBegun = (result: string): boolean => result === '' || result === 'start';

/** Returns the text of each host, and whether its last task has failed. */
export function hostTexts(hosts: readonly string[]): {
  after(host: string, task: string, result: string): string;
  hasFailed(host: string): boolean;
} {
  const width = Math.max(0, ...hosts.map((host) => host.length));
  const failed = new Set<string>();
  const done = new Map<string, string>();
  return {
    after(host, task, result) {
      if (isFailure(result)) failed.add(host);
      else failed.delete(host);
      // A task that is skipped does nothing: the line of the one before it stays.
      if (result === 'skipped') return done.get(host) ?? host;
      const text = `${host.padEnd(width)}  ${task}${isBegun(result) ? '' : ` (${result})`}`;
      if (!isBegun(result)) done.set(host, text);
      return text;
    },
    hasFailed: (host) => failed.has(host),
  };
}

/** Redraws a line for the step and a line for each host. */
export function liveProgress(hosts: readonly string[]): Progress {
  const ended = Promise.withResolvers<End>();
  const texts = hostTexts(hosts);
  const shown = new Map<string, (text: string) => void>();
  const line = (name: string) => ({
    title: name,
    task: async (_context: unknown, task: Line) => {
      shown.set(name, (text) => {
        // Words of a host must not steer the terminal.
        task.title = plainText(text);
      });
      const how = await ended.promise;
      if (how === 'failed' && (name === STEP || texts.hasFailed(name))) throw new Error(task.title);
      if (how !== 'finished') task.skip();
    },
  });
  const drawn = new Listr([STEP, ...hosts].map(line), {
    concurrent: true,
    // The command itself ends by a signal.
    registerSignalListeners: false,
    exitOnError: false,
    rendererOptions: { showErrorMessage: false, showSkipMessage: false },
  }).run();
  return {
    step: (text) => shown.get(STEP)?.(text),
    task(host, task, result) {
      shown.get(host)?.(texts.after(host, task, result));
    },
    async end(how) {
      ended.resolve(how);
      await drawn;
    },
  };
}
