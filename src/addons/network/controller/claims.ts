import { type Cidr, overlaps, parseCidr } from '#api/cidr.ts';
import { canonicalIp } from '#api/host.ts';
import { flawOf, type Network, networkAround } from '../api.ts';

/** Why a Network is made on no host now. */
export interface Hindrance {
  reason: 'InvalidSpec' | 'CidrOverlap';
  message: string;
}

const hostsOf = ({ spec }: Network): string[] => (spec.hosts ?? []).map(({ ip }) => canonicalIp(ip) ?? ip);

/** Addresses on the hosts where one of them is: as asked, or as made and not taken away yet. */
interface Claim {
  cidr: Cidr;
  hosts: ReadonlySet<string>;
}

const asked = (network: Network): Claim[] => {
  const cidr = parseCidr(network.spec.cidr);
  return cidr && !network.metadata.deletionTimestamp ? [{ cidr, hosts: new Set(hostsOf(network)) }] : [];
};
/** What it asks for where it has come: to name a host keeps nobody from it. */
const wished = (network: Network): Claim[] => {
  const known = new Set((network.status?.hosts ?? []).flatMap(({ ip, reached }) => (reached ? [ip] : [])));
  return asked(network).map(({ cidr, hosts }) => ({
    cidr,
    hosts: new Set([...hosts].filter((ip) => known.has(ip))),
  }));
};
const made = ({ status }: Network): Claim[] =>
  (status?.hosts ?? []).flatMap(({ ip, address }) => {
    const cidr = address === undefined ? undefined : networkAround(address);
    return cidr ? [{ cidr, hosts: new Set([ip]) }] : [];
  });

const clash = (one: Claim, other: Claim): string | undefined =>
  overlaps(one.cidr, other.cidr) ? [...one.hosts].find((host) => other.hosts.has(host)) : undefined;

/** Objects are as old as the API server says, and the uid decides between those of one second. */
const isOlder = (one: Network, other: Network): boolean => {
  const ageOf = ({ metadata }: Network) => `${metadata.creationTimestamp} ${metadata.uid}`;
  return ageOf(one) < ageOf(other);
};

/**
 * What keeps a Network from being made as it is asked. Two must not have an address in common on a host: who has it there
 * keeps it, and where nobody has it yet the older one of those that have reached the host gets it; before, whoever is first
 * on the host itself.
 */
export function hindranceOf(network: Network, all: readonly Network[]): Hindrance | undefined {
  const flaw = flawOf(network.spec);
  if (flaw !== undefined) return { reason: 'InvalidSpec', message: flaw };
  for (const other of all) {
    if (other.metadata.uid === network.metadata.uid) continue;
    // What it has already, the other one's older wish does not take away.
    const wishes = isOlder(other, network) ? wished(other) : [];
    for (const [mine, theirs] of asked(network).flatMap((one) => [
      ...made(other).map((two) => [one, two] as const),
      ...wishes.map((two) => [without(one, made(network)), two] as const),
    ])) {
      const host = clash(mine, theirs);
      if (host === undefined) continue;
      const { namespace, name } = other.metadata;
      const message = `spec.cidr ${network.spec.cidr} overlaps ${theirs.cidr.join('/')} of Network ${namespace}/${name} on host ${host}; choose another`;
      return { reason: 'CidrOverlap', message };
    }
  }
  return undefined;
}

/** The claim on hosts where nothing of just that network is made yet. */
const without = ({ cidr, hosts }: Claim, held: readonly Claim[]): Claim => {
  const has = held.filter((one) => one.cidr.join('/') === cidr.join('/')).flatMap((one) => [...one.hosts]);
  return { cidr, hosts: new Set([...hosts].filter((host) => !has.includes(host))) };
};
