import { quoted } from './quoted.ts';

/** Longer answers of sudo say nothing more. */
const MAX_WORD = 200;

/**
 * The command line as root: by a user who is not root through sudo, which never asks. HOME is root's, whatever the host's
 * sudoers say. Standard input reaches the command, so nothing of what it reads is in an argument list or a file.
 */
export const bySudo = (command: string): string => `sudo -n -H -u root -- /bin/sh -c ${quoted(command)}`;

/** How a person lets `user` become root, by what sudo, or the shell that did not find it, said. */
function remedyFor(user: string, code: number, word: string): string {
  const line = `the line "${user} ALL=(root) NOPASSWD: ALL" in /etc/sudoers.d/matryoshka`;
  if (code === 127) return `install sudo, and write ${line}`;
  if (code === 126) return `write the line "Defaults:${user} !noexec" in /etc/sudoers.d/matryoshka`;
  if (/\btty\b/.test(word))
    return `write the line "Defaults:${user} !requiretty" in /etc/sudoers.d/matryoshka`;
  return `write ${line}, which must be the last that holds for the user`;
}

/** What a person must do where `sudo -n` refused, or is not there. `word` is its standard error. */
export function refusalOfSudo(user: string, host: string, code: number, word: string): string {
  const said = word.trim().split('\n').at(-1)?.trim().slice(0, MAX_WORD) || `exit code ${code}`;
  return `${user} may not become root on ${host} by "sudo -n" (${said}): ${remedyFor(user, code, word)}, or let root log in`;
}
