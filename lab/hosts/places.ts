import { join } from 'node:path';

/** What belongs to the running lab: keys, known hosts, the list of hosts. In the checkout, ignored by git. */
export const labDir = join(import.meta.dirname, '..', '..', '.lab');

export const keyPath = join(labDir, 'id_ed25519');
export const knownHostsPath = join(labDir, 'known_hosts');
/** There while a demonstration wants the lab to stay. */
export const keptPath = join(labDir, 'kept');
export const hostsPath = join(labDir, 'hosts.json');

/** The Docker network of the lab; hosts have the addresses from .11 and ::11 upward. */
export const network = {
  name: 'matryoshka-lab',
  subnet: '10.88.0.0/24',
  gateway: '10.88.0.1',
  subnet6: 'fd00:10:88::/64',
  gateway6: 'fd00:10:88::1',
} as const;

export interface LabHost {
  readonly name: string;
  readonly ip: string;
}

/** The IPv6 address of a lab host: it ends like the IPv4 one. */
export const ip6Of = ({ ip }: LabHost): string => `fd00:10:88::${ip.split('.').at(-1)}`;

/** The hosts 1 to `count`: names and addresses are fixed, so that everything finds them again. */
export function labHosts(count: number): LabHost[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `lab-${index + 1}`,
    ip: `10.88.0.${11 + index}`,
  }));
}
