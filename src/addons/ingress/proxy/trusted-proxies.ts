import { BlockList, isIPv6 } from 'node:net';
import { UsageError } from '#base/errors.ts';

/** Throws UsageError for what is not a network in CIDR notation. */
export function checkNetworks(networks: readonly string[]): void {
  for (const network of networks) {
    const [address = '', prefix = '', ...more] = network.split('/');
    try {
      // Number('') is 0, and with that everybody would be trusted.
      if (!/^[0-9]{1,3}$/.test(prefix) || more.length > 0) throw new RangeError(prefix);
      new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
    } catch {
      throw new UsageError(`--trusted-proxies: "${network}" is not a network; write one such as 10.0.0.0/8`);
    }
  }
}
