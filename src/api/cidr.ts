import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

const NO_CIDR = 'is not a CIDR of a network; write it like 10.244.0.0/16, with no bits set behind the prefix';
const PAIR = '10.244.0.0/16,fd00:10:244::/56';

/** Parses a CIDR; undefined if the text is none, or if it has host bits set. */
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

/** Splits networks as kubeadm writes them, in their order; `cidr` is undefined for a part that is not a CIDR. */
export const partsOf = (text: string): { text: string; cidr: Cidr | undefined }[] =>
  text.split(',').map((part) => ({ text: part, cidr: parseCidr(part) }));

/** A network, or one of each family separated by a comma. The first has the family of the host addresses. */
export const cidrsSchema = z
  .string()
  .max(68)
  .refine((text) => spelling(text) === undefined, { error: ({ input }) => spelling(String(input)) ?? '' });

/**
 * Returns what is wrong with the spelling of networks. kubeadm gets this very text, and later specs are compared with it.
 */
function spelling(text: string): string | undefined {
  if (/\s/.test(text)) return `has white space; write it like ${PAIR}`;
  const parts = partsOf(text);
  if (parts.some(({ cidr }) => cidr === undefined)) return NO_CIDR;
  if (parts.length === 1) return undefined;
  const families = new Set(parts.map(({ cidr }) => cidr?.[0].kind()));
  if (parts.length !== 2 || families.size !== 2)
    return `names ${parts.length} networks; name one, or an IPv4 and an IPv6 one: ${PAIR}`;
  const usual = parts.map(({ cidr }) => (cidr ? spelled(cidr) : '')).join(',');
  return usual === text ? undefined : `is not in its usual spelling; write ${usual}`;
}

/** Formats a CIDR; IPv6 follows RFC 5952. */
const spelled = ([address, bits]: Cidr): string =>
  `${address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()}/${bits}`;
