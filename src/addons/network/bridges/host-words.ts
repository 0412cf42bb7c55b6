import { HostTrouble, type Seen, type Standing, type Trouble } from './provider.ts';

/** What host/bridges.sh and the fence say (ansible/README.md, The fence). */

/** 84 among the others: whose a host is with a damaged owner file, a person must say. */
const REFUSALS: Readonly<Record<number, Trouble>> = {
  81: 'HostConflict',
  82: 'StaleRun',
  83: 'HostBusy',
  86: 'ToolMissing',
  87: 'NameTaken',
};
const MAX_WORD = 300;

/** A word of a host's for people, which neither is long nor controls a terminal. */
const wordOf = (text: string): string => text.replaceAll(/\p{C}/gu, ' ').trim().slice(0, MAX_WORD);

/** The trouble behind an exit code that is not 0. */
export function troubleOf(where: string, { code, stderr }: { code: number; stderr: string }): HostTrouble {
  const last = wordOf(stderr.trim().split('\n').at(-1) ?? '');
  return new HostTrouble(REFUSALS[code] ?? 'HostFailed', `${where}: ${last || `exit code ${code}`}`);
}

/** Lines of `look`, fields with tabs between them. Throws HostTrouble upon a line that it does not know. */
export function seenIn(where: string, stdout: string): Seen {
  const bridges: Standing[] = [];
  const foreign: { link: string; to: string }[] = [];
  for (const line of stdout.split('\n').filter((text) => text !== '')) {
    const [kind, name, text, whole] = line.split('\t');
    if (kind === 'bridge' && name && text !== undefined && whole !== undefined) {
      const addresses = text.split(',').filter((address) => address !== '');
      bridges.push({ name, addresses, whole: whole === 'yes' });
    } else if (kind === 'foreign' && name && text) foreign.push({ link: name, to: text });
    else throw new HostTrouble('HostFailed', `${where} sends an unexpected line: ${wordOf(line)}`);
  }
  return { bridges, foreign };
}
