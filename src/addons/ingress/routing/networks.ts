import { z } from 'zod';

/** Stricter than z.cidrv6, which accepts the prefix 0.5: HAProxy would refuse its whole configuration. */
const NETWORK = /^([0-9A-Fa-f:.]{2,45})\/(0|[1-9]\d{0,2})$/;

/** Whether a text is a network in CIDR notation (RFC 4632, RFC 4291). */
export function isNetwork(text: string): boolean {
  const [, address = '', prefix = ''] = NETWORK.exec(text) ?? [];
  if (z.ipv4().safeParse(address).success) return Number(prefix) <= 32;
  return z.ipv6().safeParse(address).success && Number(prefix) <= 128;
}
