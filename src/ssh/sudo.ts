import { answerIncomplete } from './answer-incomplete.ts';
import type { RunOptions, RunResult, SshTarget } from './command.ts';
import { framed } from './framed.ts';
import { quoted } from './quoted.ts';
import { SshError } from './ssh-error.ts';

/** Longer answers of sudo say nothing more. */
const MAX_WORD = 200;

/** Tells a user's shell that runs nothing from a sudo that refuses: the shell says the mark, sudo decides on the exit code. */
const SHELL_MARK = 'matryoshka: shell';
const AFTER_SHELL_MARK = `/bin/sh -c 'echo "${SHELL_MARK}"; exec "$@"' sh`;

const ROOT = '-H -u root --';
/** `-k`: neither does what the host remembers count, which may end in a minute, nor is anything remembered. */
const SILENT = `sudo -k -n ${ROOT}`;
const ASKING = `sudo -k -S -p '' ${ROOT}`;
/** Root's shell reads on behind this line: where sudo does not ask any more, nobody takes the password for a command. */
const AFTER_MARK = `while IFS= read -r line; do [ "$line" != "matryoshka: input" ] || break; done; exec "$@"`;
/**
 * What the user's own shell does with the first line of its input, the password: one call of sudo has that alone, so that
 * a wrong one is one attempt and what follows is never tried; the next has it before what the command reads. The same as
 * in ansible/plugins/action/host_script.py.
 */
export const WITH_PASSWORD = `IFS= read -r word; printf '%s\\n' "$word" | ${ASKING} /bin/sh -c : && { printf '%s\\nmatryoshka: input\\n' "$word"; cat; } | ${ASKING} /bin/sh -c '${AFTER_MARK}' sh "$@"`;

/**
 * The command line as root: by a user who is not root through sudo. HOME is root's, whatever the host's sudoers say.
 * Standard input reaches the command, so nothing of what it reads is in an argument list or a file; where sudo asks, its
 * first line is the password.
 */
export const bySudo = (command: string, asks: boolean): string =>
  asks
    ? `/bin/sh -c ${quoted(WITH_PASSWORD)} sh /bin/sh -c ${quoted(command)}`
    : `${SILENT} /bin/sh -c ${quoted(command)}`;

/** How a person lets `user` become root, by what sudo, or the shell that did not find it, said. */
function fixFor(user: string, code: number, word: string): string {
  const line = `the line "${user} ALL=(root) NOPASSWD: ALL" in /etc/sudoers.d/matryoshka`;
  if (code === 127) return `install sudo, and write ${line}`;
  if (code === 126) return `write the line "Defaults:${user} !noexec" in /etc/sudoers.d/matryoshka`;
  if (/\btty\b/.test(word))
    return `write the line "Defaults:${user} !requiretty" in /etc/sudoers.d/matryoshka`;
  if (/password (is required|attempt)|no password/.test(word))
    return `give the password of ${user} with the credentials, or write ${line}, which must be the last that holds for the user`;
  return `write ${line}, which must be the last that holds for the user`;
}

/** What a person must do where sudo refused, or is not there. `word` is its standard error. */
function refusalOfSudo(user: string, host: string, code: number, word: string): string {
  const said = word.trim().split('\n').at(-1)?.trim().slice(0, MAX_WORD) || `exit code ${code}`;
  return `${user} may not become root on ${host} by sudo (${said}): ${fixFor(user, code, word)}, or let root log in`;
}

/** Runs a command line as the user who logged in; `before` stands before its input. */
export type RunLine = (command: string, options: RunOptions & { before?: string }) => Promise<RunResult>;

/**
 * Commands of a user who is root by sudo. Where one did not begin, by sudo's failure or the host's shell, sudo is
 * asked for a shell that does nothing. Where there is a password it is asked so before the first too, without it and then,
 * if need be, with it. The time holds for all together, but sudo always has a second to say its word.
 */
export function byUserWhoSudos(target: SshTarget, run: RunLine) {
  const { user, host, password } = target;
  const refusalBy = async (line: string, input: string, timeoutMs: number) => {
    const result = await run(`${AFTER_SHELL_MARK} ${line} /bin/sh -c :`, { input, timeoutMs });
    if (!result.stdout.includes(`${SHELL_MARK}\n`)) throw answerIncomplete(target, result);
    const { code, stderr } = result;
    return code === 0 ? undefined : new SshError('SudoRefused', refusalOfSudo(user, host, code, stderr));
  };
  const silent = (timeoutMs: number) => refusalBy(SILENT, '', timeoutMs);
  const asking = (timeoutMs: number) => refusalBy(ASKING, `${password}\n`, timeoutMs);
  let asks: Promise<boolean> | undefined = password === undefined ? Promise.resolve(false) : undefined;
  async function find(timeoutMs: number): Promise<boolean> {
    if (!(await silent(timeoutMs))) return false;
    const refusal = await asking(timeoutMs);
    if (refusal) throw refusal;
    return true;
  }
  return {
    run: (async (command, { input = '', timeoutMs }) => {
      const began = performance.now();
      const left = () => Math.max(1_000, Math.round(timeoutMs - (performance.now() - began)));
      asks ??= find(timeoutMs);
      const withPassword = await asks;
      const before = withPassword ? `${password}\n` : '';
      const frame = framed(command);
      const result = await run(bySudo(frame.line, withPassword), { before, input, timeoutMs: left() });
      const refusal = frame.began(result) ? undefined : await (withPassword ? asking : silent)(left());
      if (refusal) throw refusal;
      if (!frame.whole(result)) throw answerIncomplete(target, frame.read(result));
      return frame.read(result);
    }) satisfies RunLine,
    /** Whether sudo asks; known once a command ran. */
    asks: async () => (await asks) ?? false,
  };
}
