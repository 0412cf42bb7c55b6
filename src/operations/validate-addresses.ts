import ipaddr from 'ipaddr.js';
import { contains, parseCidr } from '#api/cidr.ts';
import { canonicalIp, LISTS } from '#api/host.ts';
import type { Spec } from '#api/kubernetes-cluster.ts';
import type { Problem } from '#base/errors.ts';
import type { Offer, ReservedNetwork } from './resolve.ts';

/** Addresses that do not belong to a single host that others can reach (RFC 6890, RFC 4291). */
export const NO_HOSTS: readonly ReservedNetwork[] = [
  { cidr: '0.0.0.0/8', why: 'stands for no host' },
  { cidr: '127.0.0.0/8', why: 'is a loopback address, which every machine has' },
  { cidr: '169.254.0.0/16', why: 'is a link-local address, which only neighbours on its link reach' },
  { cidr: '224.0.0.0/4', why: 'is a multicast address' },
  { cidr: '255.255.255.255/32', why: 'is a broadcast address' },
  { cidr: '240.0.0.0/4', why: 'is in a reserved network' },
  { cidr: '::/128', why: 'stands for no host' },
  { cidr: '::1/128', why: 'is a loopback address, which every machine has' },
  { cidr: 'fe80::/10', why: 'is a link-local address, which only neighbours on its link reach' },
  { cidr: 'ff00::/8', why: 'is a multicast address' },
];

/** Returns the networks of the meta cluster itself as reserved ones. */
export const ownNetworks = (cidrs: readonly string[]): ReservedNetwork[] =>
  cidrs.map((cidr) => ({ cidr, why: `lies in ${cidr}, which the meta cluster itself uses` }));

/** Returns the problems of addresses of hosts, spares and the load balancer that lie in reserved networks. */
export function addressProblems({ cluster, policy }: Spec, { reservedNetworks = [] }: Offer): Problem[] {
  const entries = [
    ...LISTS.flatMap((list) =>
      (cluster[list] ?? []).map(({ ip }, index) => ({ ip, field: `spec.cluster.${list}[${index}].ip` })),
    ),
    ...(cluster.externalLoadBalancer === undefined
      ? []
      : [{ ip: cluster.externalLoadBalancer, field: 'spec.cluster.externalLoadBalancer' }]),
    ...(policy?.replaceFrom ?? []).map(({ ip }, index) => ({
      ip,
      field: `spec.policy.replaceFrom[${index}].ip`,
    })),
  ];
  return entries.flatMap(({ ip, field }): Problem[] => {
    const text = canonicalIp(ip);
    if (text === undefined) return [];
    // An IPv4 address written as an IPv6 one (RFC 4291, section 2.5.5.2) counts as that IPv4 address.
    const address = ipaddr.process(text);
    const network = reservedNetworks.find(({ cidr }) => {
      const parsed = parseCidr(cidr);
      return parsed !== undefined && contains(parsed, address);
    });
    return network ? [{ field, value: ip, reason: `${network.why}; name another address` }] : [];
  });
}
