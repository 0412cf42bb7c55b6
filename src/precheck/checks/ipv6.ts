import { type Check, error, fine, joins } from '../check.ts';
import { addressesIn } from './address.ts';

/** Addresses that a kubelet cannot be called by for long, or at all. */
const PASSING = /\b(temporary|deprecated|tentative|dadfailed)\b/;

/**
 * Where pods have IPv6, interfaces that are made later must have it. Where they have both families, each node has an
 * IPv6 address on the interface of its IPv4 one: flannel wants one interface. Which it is roles/kubelet/files/addresses.sh
 * chooses, by the same rule. That it lies among those of pods is the check of routes'.
 */
export const ipv6: Check = {
  name: 'ipv6',
  script: () => 'say disabledOnNewLinks "$(cat /proc/sys/net/ipv6/conf/default/disable_ipv6)"',
  good: '@disabledOnNewLinks 0',
  check(context) {
    const { host, networks } = context;
    const six = networks.filter((text) => text.includes(':'));
    if (!joins(context) || host.role === 'etcd' || six.length === 0) return fine;
    if (host.said.text('disabledOnNewLinks') !== '0')
      return error(
        'IPv6 is off for new interfaces, those of pods; set net.ipv6.conf.default.disable_ipv6 to 0 (below /etc/sysctl.d as well), or leave IPv6 out of podCIDR and serviceCIDR',
      );
    // Its IPv6 address is then the one that it is called by.
    if (six.length === networks.length) return fine;
    const all = addressesIn(host.said.all('address'));
    const link = all.find(({ ip }) => ip === host.ip)?.link;
    // Which the check of addresses says.
    if (link === undefined) return fine;
    const usable = all.filter(
      (address) =>
        address.link === link &&
        address.ip.includes(':') &&
        /\bscope global\b/.test(address.flags) &&
        !PASSING.test(address.flags),
    );
    if (usable.length === 0)
      return error(
        `${link}, which has ${host.ip}, has no global IPv6 address; podCIDR has IPv6 as well: give ${link} a fixed one, or leave IPv6 out of podCIDR and serviceCIDR`,
      );
    return fine;
  },
};
