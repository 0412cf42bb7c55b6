import { join } from 'node:path';
import { UsageError } from '#base/errors.ts';

/** A second lab beside the first, LAB=2, has a folder, a network and hosts of its own. */
const LABS = [1, 2];
const which = Number(process.env['LAB'] ?? 1);
if (!LABS.includes(which)) throw new UsageError(`LAB is "${process.env['LAB']}": there are labs 1 and 2`);
const suffixOf = (lab: number): string => (lab === 1 ? '' : String(lab));
const suffix = suffixOf(which);
const [prefix, prefix6] = [`10.${87 + which}.0`, `fd00:10:${87 + which}`];

const checkout = join(import.meta.dirname, '..', '..');
/** What belongs to the running lab: keys, known hosts, the list of hosts. In the checkout, ignored by git. */
export const labDir = join(checkout, `.lab${suffix}`);
/** What belongs to the machine, whichever lab needs it. */
export const machineDir = join(checkout, '.lab');

export const keyPath = join(labDir, 'id_ed25519');
export const knownHostsPath = join(labDir, 'known_hosts');
/** There while a demonstration wants the lab to stay. */
export const keptPath = join(labDir, 'kept');
export const hostsPath = join(labDir, 'hosts.json');

/** Labels of the hosts of all labs. */
export const labLabels: readonly string[] = LABS.map((lab) => `matryoshka-lab${suffixOf(lab)}`);

/** The Docker network of the lab; hosts have the addresses from .11 and ::11 upward. */
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

/** The IPv6 address of a lab host: it ends like the IPv4 one. */
export const ip6Of = ({ ip }: LabHost): string => `${prefix6}::${ip.split('.').at(-1)}`;

/** The hosts 1 to `count`: names and addresses are fixed, so that everything finds them again. */
export function labHosts(count: number): LabHost[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `lab${suffix}-${index + 1}`,
    ip: `${prefix}.${11 + index}`,
  }));
}
