import { UsageError } from '#base/errors.ts';
import { isNetwork } from '../routing/networks.ts';

/** Throws UsageError if a text is no network in CIDR notation. */
export function checkNetworks(networks: readonly string[]): void {
  for (const network of networks)
    if (!isNetwork(network))
      throw new UsageError(`--trusted-proxies: "${network}" is not a network; write one such as 10.0.0.0/8`);
}
