import { offerOf } from '#artifacts/site.ts';
import type { Offer } from '#operations/resolve.ts';
import { NO_HOSTS, ownNetworks } from '#operations/validate-addresses.ts';

/** Returns the offer of this installation, from the files of its site and its settings. */
export function offerFrom({ siteDir, allowHooks }: { siteDir: string; allowHooks: boolean }): Offer {
  const { versions, reservedNetworks } = offerOf(siteDir);
  return { versions, hooks: allowHooks, reservedNetworks: [...NO_HOSTS, ...ownNetworks(reservedNetworks)] };
}
