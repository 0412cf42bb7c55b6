import { join } from 'node:path';

/** A second lab beside the first, LAB=2, has a folder, a network and hosts of its own. */
const which = Math.max(1, Math.trunc(Number(process.env['LAB'] ?? 1)) || 1);
const suffix = which === 1 ? '' : String(which);
const [prefix, prefix6] = [`10.${87 + which}.0`, `fd00:10:${87 + which}`];

/** What belongs to the running lab: keys, known hosts, the list of hosts. In the checkout, ignored by git. */
export const labDir = join(import.meta.dirname, '..', '..', `.lab${suffix}`);

export const keyPath = join(labDir, 'id_ed25519');
export const knownHostsPath = join(labDir, 'known_hosts');
/** There while a demonstration wants the lab to stay. */
export const keptPath = join(labDir, 'kept');
export const hostsPath = join(labDir, 'hosts.json');

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
