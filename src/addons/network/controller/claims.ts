import { type Cidr, overlaps, parseCidr } from '#api/cidr.ts';
import { canonicalIp } from '#api/host.ts';
import { flawOf, type Network, networkAround } from '../api.ts';

/** Reason why a Network is not carried out on any host now. */
export interface Hindrance {
  reason: 'InvalidSpec' | 'CidrOverlap';
  message: string;
}

const hostsOf = ({ spec }: Network): string[] => (spec.hosts ?? []).map(({ ip }) => canonicalIp(ip) ?? ip);

/** Addresses on hosts: as the spec asks, or as created and not yet removed. */
interface Claim {
  cidr: Cidr;
  hosts: ReadonlySet<string>;
}

const asked = (network: Network): Claim[] => {
  const cidr = parseCidr(network.spec.cidr);
  return cidr && !network.metadata.deletionTimestamp ? [{ cidr, hosts: new Set(hostsOf(network)) }] : [];
};
/** Returns the addresses on hosts that the Network reached. A host that is only named blocks no other Network. */
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

/** Whether one Network is older: by the API server's creation time, then by uid. */
const isOlder = (one: Network, other: Network): boolean => {
  const ageOf = ({ metadata }: Network) => `${metadata.creationTimestamp} ${metadata.uid}`;
  return ageOf(one) < ageOf(other);
};

/**
 * Returns the reason why a Network cannot be carried out as asked. Two Networks must not share an address on a host. The one
 * that has the address keeps it. Before that, the older one of those that reached the host gets it; before any reached it,
 * the first to take it on the host.
 */
export function hindranceOf(network: Network, all: readonly Network[]): Hindrance | undefined {
  const flaw = flawOf(network.spec);
  if (flaw !== undefined) return { reason: 'InvalidSpec', message: flaw };
  for (const other of all) {
    if (other.metadata.uid === network.metadata.uid) continue;
    // An older Network's wish does not take away existing addresses.
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

/** Returns the claim without the hosts that already have exactly this network. */
const without = ({ cidr, hosts }: Claim, held: readonly Claim[]): Claim => {
  const has = held.filter((one) => one.cidr.join('/') === cidr.join('/')).flatMap((one) => [...one.hosts]);
  return { cidr, hosts: new Set([...hosts].filter((host) => !has.includes(host))) };
};
