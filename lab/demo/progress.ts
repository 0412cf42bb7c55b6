import { Listr } from 'listr2';
import type { Rest } from '../meta/rest.ts';

/** Lines of hosts, each with its current task, and the seconds since the operation's request. */
export interface HostLines {
  show(host: string, task: string): void;
  end(): Promise<void>;
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(0).padStart(4)} s`;

/** Shows a list that is redrawn in a terminal. Elsewhere it prints a line when a host begins a task. */
function hostLines(hosts: readonly string[], terminal: boolean): HostLines {
  const since = performance.now();
  if (!terminal) {
    const last = new Map<string, string>();
    return {
      show(host, task) {
        if (last.get(host) === task) return;
        last.set(host, task);
        process.stdout.write(`${seconds(since)}  ${host.padEnd(18)} ${task}\n`);
      },
      end: async () => {},
    };
  }
  const ended = Promise.withResolvers<void>();
  const titles = new Map<string, (text: string) => void>();
  const list = new Listr(
    hosts.map((host) => ({
      title: host,
      task: (_context: unknown, task: { title: string }) => {
        titles.set(host, (text) => {
          task.title = text;
        });
        return ended.promise;
      },
    })),
    { concurrent: true },
  );
  const drawn = list.run();
  return {
    show: (host, task) => titles.get(host)?.(`${seconds(since)}  ${host.padEnd(18)} ${task}`),
    end: async () => {
      ended.resolve();
      await drawn;
    },
  };
}

/** Follows an operation's log and shows each host's task, until the log ends or `signal` aborts. */
export async function followHosts(
  rest: Rest,
  path: string,
  hosts: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const lines = hostLines(hosts, process.stdout.isTTY);
  try {
    await rest.follow(
      `${path}/logs?follow=true`,
      (line) => {
        const [, host, task, result] = line.split('  ');
        if (host !== undefined && task !== undefined && hosts.includes(host)) {
          lines.show(host, result === 'start' || result === undefined ? task : `${task} (${result})`);
        }
      },
      signal,
    );
  } catch (error) {
    if (!signal.aborted)
      process.stdout.write(
        `the log could not be followed: ${error instanceof Error ? error.message : error}\n`,
      );
  } finally {
    await lines.end();
  }
}
