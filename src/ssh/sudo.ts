import { answerIncomplete } from './answer-incomplete.ts';
import type { RunOptions, RunResult, SshTarget } from './command.ts';
import { framed } from './framed.ts';
import { quoted } from './quoted.ts';
import { SshError } from './ssh-error.ts';

/** Longest quote of sudo's output; more does not help. */
const MAX_OUTPUT = 200;

/**
 * Distinguishes a user's shell that runs nothing from a sudo that refuses: the shell prints the mark, sudo decides the exit
 * code.
 */
const SHELL_MARKER = 'matryoshka: shell';
const AFTER_SHELL_MARKER = `/bin/sh -c 'echo "${SHELL_MARKER}"; exec "$@"' sh`;

const ROOT = '-H -u root --';
/** Silent call of sudo. With `-k`, sudo uses no cached password, which may expire in a minute, and caches none. */
const SILENT = `sudo -k -n ${ROOT}`;
const ASKING = `sudo -k -S -p '' ${ROOT}`;
/** Skips input up to this line in root's shell: if sudo no longer asks, the password must not be read as a command. */
const AFTER_MARKER = `while IFS= read -r line; do [ "$line" != "matryoshka: input" ] || break; done; exec "$@"`;
/**
 * Shell text that reads the password, the first line of the input. The first sudo gets the password alone, so a wrong one is
 * one attempt and the rest is never tried. The next sudo gets it before the command's input.
 * ansible/plugins/action/host_script.py has the same.
 */
export const WITH_PASSWORD = `IFS= read -r word; printf '%s\\n' "$word" | ${ASKING} /bin/sh -c : && { printf '%s\\nmatryoshka: input\\n' "$word"; cat; } | ${ASKING} /bin/sh -c '${AFTER_MARKER}' sh "$@"`;

/**
 * Returns the command line as root, through sudo for another user. HOME is root's, despite the host's sudoers file. Standard
 * input reaches the command, so its content is in no argument list or file. If sudo asks, the first line of the input is the
 * password.
 */
export const bySudo = (command: string, asks: boolean): string =>
  asks
    ? `/bin/sh -c ${quoted(WITH_PASSWORD)} sh /bin/sh -c ${quoted(command)}`
    : `${SILENT} /bin/sh -c ${quoted(command)}`;

/** Returns the remediation that lets `user` become root, by the output of sudo, or of the shell that did not find it. */
function fixFor(user: string, code: number, output: string): string {
  const line = `the line "${user} ALL=(root) NOPASSWD: ALL" in /etc/sudoers.d/matryoshka`;
  if (code === 127) return `install sudo, and write ${line}`;
  if (code === 126) return `write the line "Defaults:${user} !noexec" in /etc/sudoers.d/matryoshka`;
  if (/\btty\b/.test(output))
    return `write the line "Defaults:${user} !requiretty" in /etc/sudoers.d/matryoshka`;
  if (/password (is required|attempt)|no password/.test(output))
    return `give the password of ${user} with the credentials, or write ${line}, which must be the last that holds for the user`;
  return `write ${line}, which must be the last that holds for the user`;
}

/** Returns the remediation after sudo refused, or is missing. `word` is its standard error. */
function refusalOfSudo(user: string, host: string, code: number, output: string): string {
  const said = output.trim().split('\n').at(-1)?.trim().slice(0, MAX_OUTPUT) || `exit code ${code}`;
  return `${user} may not become root on ${host} by sudo (${said}): ${fixFor(user, code, output)}, or let root log in`;
}

/** Runs a command line as the user who logged in; `before` precedes its input. */
export type RunLine = (command: string, options: RunOptions & { before?: string }) => Promise<RunResult>;

/**
 * Runs commands of a user who becomes root by sudo. If a command did not begin, because of sudo or the host's shell, it asks
 * sudo for a shell that does nothing. With a password, it does so before the first command too, first without the password
 * and then, if necessary, with it. The timeout covers all of it, but sudo always gets a second to answer.
 */
export function byUserWhoSudos(target: SshTarget, run: RunLine) {
  const { user, host, password } = target;
  const refusalBy = async (line: string, input: string, timeoutMs: number) => {
    const result = await run(`${AFTER_SHELL_MARKER} ${line} /bin/sh -c :`, { input, timeoutMs });
    if (!result.stdout.includes(`${SHELL_MARKER}\n`)) throw answerIncomplete(target, result);
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
    run: (async (command, { input = '', timeoutMs, output }) => {
      const began = performance.now();
      const left = () => Math.max(1_000, Math.round(timeoutMs - (performance.now() - began)));
      asks ??= find(timeoutMs);
      const withPassword = await asks;
      const before = withPassword ? `${password}\n` : '';
      const frame = framed(command);
      const result = await run(bySudo(frame.line, withPassword), {
        before,
        input,
        timeoutMs: left(),
        ...(output === undefined ? {} : { output }),
      });
      const refusal = frame.began(result) ? undefined : await (withPassword ? asking : silent)(left());
      if (refusal) throw refusal;
      if (!frame.whole(result)) throw answerIncomplete(target, frame.read(result));
      return frame.read(result);
    }) satisfies RunLine,
    /** Whether sudo asks for a password; known once a command ran. */
    asks: async () => (await asks) ?? false,
  };
}
