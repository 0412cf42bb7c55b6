import { HostTrouble, type Seen, type Standing, type Trouble } from './provider.ts';

/** Reads the exit codes and output of host/bridges.sh and the fence (ansible/README.md, The fence). */

/**
 * Exit codes of refusals. Code 84 is not among them: with a damaged owner file, only the user can decide who owns the host.
 */
const REFUSALS: Readonly<Record<number, Trouble>> = {
  81: 'HostConflict',
  82: 'StaleRun',
  83: 'HostBusy',
  86: 'ToolMissing',
  87: 'NameTaken',
};
const MAX_MESSAGE = 300;

/** Cleans a message of a host for users: short, without control characters. */
const plainMessage = (text: string): string => text.replaceAll(/\p{C}/gu, ' ').trim().slice(0, MAX_MESSAGE);

/** Returns the trouble behind an exit code that is not 0. */
export function troubleOf(where: string, { code, stderr }: { code: number; stderr: string }): HostTrouble {
  const last = plainMessage(stderr.trim().split('\n').at(-1) ?? '');
  return new HostTrouble(REFUSALS[code] ?? 'HostFailed', `${where}: ${last || `exit code ${code}`}`);
}

/** Parses the output of `look`: lines of fields with tabs between them. Throws HostTrouble upon an unknown line. */
export function seenIn(where: string, stdout: string): Seen {
  const bridges: Standing[] = [];
  const foreign: { link: string; to: string }[] = [];
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const [kind, name, text, whole] = line.split('\t');
    if (kind === 'bridge' && name && text !== undefined && whole !== undefined) {
      const addresses = text.split(',').filter((address) => address !== '');
      bridges.push({ name, addresses, whole: whole === 'yes' });
    } else if (kind === 'foreign' && name && text) foreign.push({ link: name, to: text });
    else throw new HostTrouble('HostFailed', `${where} sends an unexpected line: ${plainMessage(line)}`);
  }
  return { bridges, foreign };
}
