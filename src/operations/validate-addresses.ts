import ipaddr from 'ipaddr.js';
import { contains, parseCidr } from '#api/cidr.ts';
import { canonicalIp, LISTS } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import type { Offer } from './resolve.ts';

/** Addresses that stand for no single host that somebody else can reach (RFC 6890). */
const NO_HOST: Readonly<Record<string, string>> = {
  unspecified: 'stands for no host',
  loopback: 'is a loopback address, which every machine has',
  linkLocal: 'is a link-local address, which only neighbours on its link reach',
  multicast: 'is a multicast address',
  broadcast: 'is a broadcast address',
};

/** Problems of host addresses, of spares too: those that stand for no host, and those of the meta cluster itself. */
export function addressProblems({ cluster, policy }: Spec, { reservedNetworks = [] }: Offer): Problem[] {
  const entries = [
    ...LISTS.flatMap((list) =>
      (cluster[list] ?? []).map(({ ip }, index) => ({ ip, field: `spec.cluster.${list}[${index}].ip` })),
    ),
    ...(policy?.replaceFrom ?? []).map(({ ip }, index) => ({
      ip,
      field: `spec.policy.replaceFrom[${index}].ip`,
    })),
  ];
  return entries.flatMap(({ ip, field }): Problem[] => {
    const text = canonicalIp(ip);
    if (text === undefined) return [];
    // An IPv4 address written as an IPv6 one (RFC 4291, section 2.5.5.2) is that IPv4 address.
    const address = ipaddr.process(text);
    const reason = NO_HOST[address.range()];
    if (reason !== undefined) return [{ field, value: ip, reason: `${reason}; name the address of a host` }];
    const network = reservedNetworks.find((one) => {
      const cidr = parseCidr(one);
      return cidr !== undefined && contains(cidr, address);
    });
    if (network === undefined) return [];
    return [{ field, value: ip, reason: `lies in ${network}, which the meta cluster itself uses` }];
  });
}
