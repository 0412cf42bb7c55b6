import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** A CIDR whose address is the network's own (no host bits set); undefined otherwise. */
export function parseCidr(text: string): Cidr | undefined {
  const family = text.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
  if (!family.isValidCIDR(text)) return undefined;
  const [address, bits] = family.parseCIDR(text);
  const network = family.networkAddressFromCIDR(text);
  return network.toNormalizedString() === address.toNormalizedString() ? [address, bits] : undefined;
}

export function contains(outer: Cidr, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return outer[0].kind() === address.kind() && address.match(outer[0], outer[1]);
}

/** Whether two networks share an address. */
export const overlaps = (a: Cidr, b: Cidr): boolean => contains(a, b[0]) || contains(b, a[0]);

export const cidrSchema = z
  .string()
  .max(49)
  .refine((text) => parseCidr(text) !== undefined, {
    error: 'is not a CIDR of a network; write it like 10.244.0.0/16, with no bits set behind the prefix',
  });
