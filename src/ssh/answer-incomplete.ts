import type { RunResult, SshTarget } from './command.ts';
import { SshError } from './ssh-error.ts';

/** Longest quote of a host's output; more does not help. */
const MAX_OUTPUT = 200;

/** Returns the host's output on one line, without characters that control a terminal. */
const lastLineOf = (text: string): string =>
  text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_OUTPUT);

/** Returns the remediation that lets `user` run commands, by the host's output. */
function fixFor(user: string, code: number, output: string): string {
  if (/expired|(change|new) .*password|password change/i.test(output))
    return `its password has expired: set a new one with "passwd ${user}", or let it not expire with "chage -M -1 -d $(date +%F) ${user}"`;
  if (/not available|nologin|no login/i.test(output))
    return `it has no login shell: set one with "usermod -s /bin/bash ${user}", or name another user`;
  if (code > 128 && code < 255)
    return `signal ${code - 128} ended the command: look for it in the host's log ("journalctl -k"), then try again`;
  return (
    `see that ${user} has a login shell, a password that has not expired, and no "command=" before the key in ` +
    'authorized_keys nor ForceCommand in sshd_config'
  );
}

/**
 * Builds the error for an answer without its marks: the login succeeded, but the command did not run, or was interrupted.
 */
export function answerIncomplete(
  { user, host, port }: Pick<SshTarget, 'user' | 'host' | 'port'>,
  { code, stdout, stderr }: RunResult,
): SshError {
  const output = lastLineOf(`${stderr}\n${stdout}`);
  const said = output === '' ? 'nothing' : `"${output}"`;
  return new SshError(
    'AnswerIncomplete',
    `${user}@${host}:${port} takes the login, but does not run our command to its end; it said ${said} and ended with ` +
      `exit code ${code}: ${fixFor(user, code, output)}`,
  );
}
