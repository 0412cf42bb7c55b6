import ipaddr from 'ipaddr.js';
import { z } from 'zod';

export type Cidr = [ipaddr.IPv4 | ipaddr.IPv6, number];

const NO_CIDR = 'is not a CIDR of a network; write it like 10.244.0.0/16, with no bits set behind the prefix';
const PAIR = '10.244.0.0/16,fd00:10:244::/56';

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

/** The parts of networks as kubeadm spells them, in their order; `undefined` stands for a part that is no CIDR. */
export const partsOf = (text: string): { text: string; cidr: Cidr | undefined }[] =>
  text.split(',').map((part) => ({ text: part, cidr: parseCidr(part) }));

/** One network, or one of each family with a comma between them, the first of the family that hosts are called by. */
export const cidrsSchema = z
  .string()
  .max(68)
  .refine((text) => spelling(text) === undefined, { error: ({ input }) => spelling(String(input)) ?? '' });

/** What is wrong with networks as they are written. The text is what kubeadm is given and what stays compared. */
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

/** IPv6 as RFC 5952 has it. */
const spelled = ([address, bits]: Cidr): string =>
  `${address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()}/${bits}`;
