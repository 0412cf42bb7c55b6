import type { RunOptions, RunResult, SshTarget } from './connection.ts';
import { quoted } from './quoted.ts';
import { SshError } from './ssh-error.ts';

/** Longer answers of sudo say nothing more. */
const MAX_WORD = 200;

const SUDO = { silent: 'sudo -n -H -u root --', asking: `sudo -k -S -p '' -H -u root --` } as const;
/** Ends what sudo may read of standard input; the same in ansible/plugins/action/host_script.py. */
const INPUT_BEGINS = 'matryoshka: input begins';
/** Reads away the password, where sudo did not ask for it. A shell reads a pipe no further than its line. */
const skipped = `while IFS= read -r line; do [ "$line" != '${INPUT_BEGINS}' ] || break; done; `;

/**
 * The command line as root: by a user who is not root through sudo. Without a password sudo never asks; with one it reads
 * that from standard input if it wants it, each time anew, so that the host remembers nothing. HOME is root's, whatever
 * the host's sudoers say. Standard input reaches the command, so nothing of what it reads is in an argument list or a file.
 */
export const bySudo = (command: string, withPassword: boolean): string =>
  withPassword
    ? `${SUDO.asking} /bin/sh -c ${quoted(skipped + command)}`
    : `${SUDO.silent} /bin/sh -c ${quoted(command)}`;

/** What stands before the input of a command with a password. */
export const beforeInput = (password: string | undefined): string =>
  password === undefined ? '' : `${password}\n${INPUT_BEGINS}\n`;

/** How a person lets `user` become root, by what sudo, or the shell that did not find it, said. */
function remedyFor(user: string, code: number, word: string): string {
  const line = `the line "${user} ALL=(root) NOPASSWD: ALL" in /etc/sudoers.d/matryoshka`;
  if (code === 127) return `install sudo, and write ${line}`;
  if (code === 126) return `write the line "Defaults:${user} !noexec" in /etc/sudoers.d/matryoshka`;
  if (/\btty\b/.test(word))
    return `write the line "Defaults:${user} !requiretty" in /etc/sudoers.d/matryoshka`;
  if (/password/.test(word))
    return `give the password of ${user} with the credentials, or write ${line}, which must be the last that holds for the user`;
  return `write ${line}, which must be the last that holds for the user`;
}

/** What a person must do where sudo refused, or is not there. `word` is its standard error. */
function refusalOfSudo(user: string, host: string, code: number, word: string): string {
  const said = word.trim().split('\n').at(-1)?.trim().slice(0, MAX_WORD) || `exit code ${code}`;
  return `${user} may not become root on ${host} by sudo (${said}): ${remedyFor(user, code, word)}, or let root log in`;
}

/** Runs a command line as the user who logged in; `before` stands before its input. */
export type RunLine = (command: string, options: RunOptions & { before?: string }) => Promise<RunResult>;

/**
 * Commands of a user who is root by sudo. Its own failure and the command's have the same exit codes: after one, sudo is
 * asked for a shell that does nothing. With a password it is asked so before the first, and gets no second line: what
 * follows a wrong one would be tried as the next. The time holds for all together, but sudo always has a second to say
 * its word.
 */
export function byUserWhoSudos({ user, host, password }: SshTarget, run: RunLine): RunLine {
  const withPassword = password !== undefined;
  const nothing = `${SUDO[withPassword ? 'asking' : 'silent']} /bin/sh -c :`;
  const ask = async (timeoutMs: number) => {
    const { code, stderr } = await run(nothing, { input: withPassword ? `${password}\n` : '', timeoutMs });
    if (code !== 0) throw new SshError('SudoRefused', refusalOfSudo(user, host, code, stderr));
  };
  let takesPassword: Promise<void> | undefined;
  return async (command, { input = '', timeoutMs }) => {
    const began = performance.now();
    const left = () => Math.max(1_000, Math.round(timeoutMs - (performance.now() - began)));
    if (withPassword) {
      takesPassword ??= ask(timeoutMs);
      await takesPassword;
    }
    const line = bySudo(command, withPassword);
    const result = await run(line, { before: beforeInput(password), input, timeoutMs: left() });
    if (result.code !== 0) await ask(left());
    return result;
  };
}
