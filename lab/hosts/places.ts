import { join } from 'node:path';
import { UsageError } from '#base/errors.ts';

/** Numbers of the labs. A second lab, LAB=2, has its own folder, network and hosts. */
const LABS = [1, 2];
const which = Number(process.env['LAB'] ?? 1);
if (!LABS.includes(which)) throw new UsageError(`LAB is "${process.env['LAB']}": there are labs 1 and 2`);
const suffixOf = (lab: number): string => (lab === 1 ? '' : String(lab));
const suffix = suffixOf(which);
const [prefix, prefix6] = [`10.${87 + which}.0`, `fd00:10:${87 + which}`];

const checkout = join(import.meta.dirname, '..', '..');
/** Folder of the running lab: keys, known hosts, list of hosts. It is in the checkout, and git ignores it. */
export const labDir = join(checkout, `.lab${suffix}`);
/** Folder of the machine's files, which all labs share. */
export const machineDir = join(checkout, '.lab');

export const keyPath = join(labDir, 'id_ed25519');
export const knownHostsPath = join(labDir, 'known_hosts');
/** File that exists while a demonstration keeps the lab. */
export const keptPath = join(labDir, 'kept');
export const hostsPath = join(labDir, 'hosts.json');

/** Labels of the hosts of all labs. */
export const labLabels: readonly string[] = LABS.map((lab) => `matryoshka-lab${suffixOf(lab)}`);

/** Docker network of the lab. Hosts have the addresses from .11 and ::11 upward. */
export const network = {
  name: `matryoshka-lab${suffix}`,
  subnet: `${prefix}.0/24`,
  gateway: `${prefix}.1`,
  subnet6: `${prefix6}::/64`,
  gateway6: `${prefix6}::1`,
} as const;

export interface LabHost {
  readonly name: string;
  readonly ip: string;
}

/** Returns the IPv6 address of a lab host, which ends like the IPv4 one. */
export const ip6Of = ({ ip }: LabHost): string => `${prefix6}::${ip.split('.').at(-1)}`;

/** Returns the hosts 1 to `count`. Names and addresses are fixed, so that every program finds them. */
export function labHosts(count: number): LabHost[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `lab${suffix}-${index + 1}`,
    ip: `${prefix}.${11 + index}`,
  }));
}
