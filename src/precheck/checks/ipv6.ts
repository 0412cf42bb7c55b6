import { type Check, error, fine, joins } from '../check.ts';
import { addressesIn } from './address.ts';

/** Flags of addresses that a kubelet can use only for a while, or not at all. */
const PASSING = /\b(temporary|deprecated|tentative|dadfailed)\b/;

/**
 * Checks IPv6. If pods have IPv6, new interfaces must have it. If pods have both families, each node needs an IPv6 address
 * on the interface of its IPv4 address, because flannel uses one interface. roles/kubelet/files/addresses.sh chooses the
 * address by the same rule. The routes check reports an address within the pods' networks.
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
    // With IPv6 alone, the host's address in the spec is already its IPv6 address.
    if (six.length === networks.length) return fine;
    const all = addressesIn(host.said.all('address'));
    const link = all.find(({ ip }) => ip === host.ip)?.link;
    // The address check reports this.
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
