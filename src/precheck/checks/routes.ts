import ipaddr from 'ipaddr.js';
import { type Cidr, contains, overlaps, parseCidr } from '#api/cidr.ts';
import { type Check, type CheckContext, type Findings, joins } from '../check.ts';
import { addressesIn } from './address.ts';
import { isOpen } from './owner.ts';

/** Interfaces of a cluster's own network, which earlier runs may have left; the foreign check finds those of others. */
const OURS = /^(cni\d+|flannel[.-].*|kube-ipvs0|kube-bridge|lo)$/;

/** Network of the host, and its origin. */
interface Near {
  cidr: Cidr;
  text: string;
  link: string;
}

/** Parses a route's destination or an address as a network; a bare address is a network by itself. */
function networkOf(text: string): Cidr | undefined {
  if (text.includes('/')) return parseCidr(text);
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv6' ? 128 : 32];
}

function routesOf({ host }: CheckContext): Near[] {
  const routes = host.said.all('route').flatMap((line) => {
    const [destination = ''] = line.split(' ');
    const link = /\bdev (\S+)/.exec(line)?.[1] ?? '';
    const cidr = networkOf(destination);
    return cidr ? [{ cidr, text: `the route to ${destination} (${link || 'no interface'})`, link }] : [];
  });
  const addresses = addressesIn(host.said.all('address')).flatMap(({ ip, link }) => {
    const cidr = networkOf(ip);
    return cidr ? [{ cidr, text: `the address ${ip} (${link})`, link }] : [];
  });
  return [...addresses, ...routes].filter(({ link, cidr }) => !OURS.test(link) && cidr[1] > 0);
}

/**
 * Finds addresses and routes of the host within the networks of pods and Services: packets to pods there would leave the
 * cluster. The pods' own routes take precedence over a route to a wider network, whose hosts with such addresses then become
 * unreachable.
 */
export const routes: Check = {
  name: 'routes',
  script: () =>
    `{ ip -o -4 route show; ip -o -6 route show; } | while read -r route; do say route "$route"; done`,
  good: '@route default via 10.0.0.254 dev eth0',
  check(context) {
    const findings: Findings = { warnings: [], errors: [] };
    if (!joins(context) || context.host.role === 'etcd') return findings;
    const near = routesOf(context);
    for (const text of context.networks) {
      const cidr = parseCidr(text);
      if (!cidr) continue;
      const inside = near.find((one) => contains(cidr, one.cidr[0]) && one.cidr[1] >= cidr[1]);
      const around = near.find((one) => overlaps(one.cidr, cidr) && one.cidr[1] < cidr[1]);
      // On a host of this cluster they may belong to its own pod network, which the site chose.
      if (inside && isOpen(context)) continue;
      if (inside)
        findings.errors.push(
          `${inside.text} lies in ${text}, which is for pods or Services; choose another podCIDR or serviceCIDR, or remove it`,
        );
      else if (around)
        findings.warnings.push(
          `${around.text} covers ${text}, which is for pods or Services: hosts there with such addresses cannot be reached from this one`,
        );
    }
    return findings;
  },
};
