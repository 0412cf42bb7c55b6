import { BlockList, isIPv6 } from 'node:net';
import { UsageError } from '#base/errors.ts';
import type { Outgoing } from './endpoint-connection.ts';
import { type Fields, goesOn, listed } from './http1/fields.ts';
import type { RequestHead } from './http1/heads.ts';

/** Who is on the other end of a client's connection, and of which kind it is. */
export interface Peer {
  remoteAddress: string;
  isSecure: boolean;
}

/** Whether what a peer says of the request's way to it is believed. */
export type Trust = (address: string) => boolean;

/** Addresses of these networks (CIDR). Throws UsageError with what is none. */
export function trustIn(networks: readonly string[]): Trust {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = '', ...more] = network.split('/');
    try {
      // Number('') is 0, and with that everybody would be trusted.
      if (!/^[0-9]{1,3}$/.test(prefix) || more.length > 0) throw new RangeError(prefix);
      list.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
    } catch {
      throw new UsageError(`--trusted-proxies: "${network}" is no network; write one such as 10.0.0.0/8`);
    }
  }
  return (address) => networks.length > 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** What we tell of the way ourselves, upon what a trusted peer said of it. */
const TOLD = new Set(['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto']);
/** Whatever else frameworks believe of the way is named like these: X-Forwarded-Ssl, -Scheme, -Prefix. */
const WAY = /^(x-forwarded-.*|forwarded|x-real-ip)$/;

/** An IPv4 client of a socket for both families. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;

/** One that servers of the CGI family read as the same as another name is none that goes on. */
const isWay = (name: string): boolean => WAY.test(name.includes('_') ? name.replaceAll('_', '-') : name);

/** The fields that an endpoint gets, host and lengths apart. */
export function forwardedFields(head: RequestHead, peer: Peer, trust: Trust): Fields {
  const { fields, authority, framing } = head;
  const isTrusted = trust(peer.remoteAddress);
  const kept: Fields = [];
  const told = new Map<string, string>();
  for (let at = 0; at < fields.length; at += 2) {
    const [name = '', value = ''] = [fields[at], fields[at + 1]];
    if (name === 'host') continue;
    if (isWay(name)) {
      if (!isTrusted) continue;
      if (TOLD.has(name)) told.set(name, told.has(name) ? `${told.get(name)}, ${value}` : value);
      else if (name.startsWith('x-forwarded-')) kept.push(name, value);
    } else if (goesOn(name, framing.connection)) kept.push(name, value);
    else if (name === 'te' && listed(value).includes('trailers') && head.version === '2')
      kept.push('te', 'trailers');
  }
  const before = told.get('x-forwarded-for');
  const { remoteAddress, isSecure } = peer;
  kept.push(
    'x-forwarded-for',
    before === undefined ? remoteAddress : `${before}, ${remoteAddress}`,
    'x-forwarded-host',
    told.get('x-forwarded-host') ?? authority,
    'x-forwarded-port',
    told.get('x-forwarded-port') ?? portOf(authority, isSecure),
    'x-forwarded-proto',
    told.get('x-forwarded-proto') ?? (isSecure ? 'https' : 'http'),
  );
  return kept;
}

/** The port that the client has called, which a Service or a balancer may have led to another. */
const portOf = (authority: string, isSecure: boolean): string =>
  /:([0-9]+)$/.exec(authority)?.[1] ?? (isSecure ? '443' : '80');

/** Protocols to change to that go on: HTTP/2 would be one that nobody here looks into. */
function upgradeOf({ framing, method }: RequestHead): string | undefined {
  const { upgrade, connection, length } = framing;
  if (upgrade === undefined || method !== 'GET' || (length ?? 0) !== 0) return undefined;
  if (!connection.includes('upgrade') || listed(upgrade).some((one) => one.startsWith('h2')))
    return undefined;
  return upgrade;
}

/** A request as an endpoint of HTTP/1.1 gets it. `mayUpgrade`: the client's connection can change its protocol. */
export function outgoingOf(head: RequestHead, fields: Fields, mayUpgrade: boolean): Outgoing {
  const { method, target, authority, version } = head;
  const { length } = head.framing;
  const upgrade = mayUpgrade ? upgradeOf(head) : undefined;
  let text = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\n`;
  for (let at = 0; at < fields.length; at += 2) {
    if (version === '2' && fields[at] === 'te') continue;
    text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  }
  if (length === 'chunked') text += 'transfer-encoding: chunked\r\n';
  else if (length !== undefined) text += `content-length: ${length}\r\n`;
  if (upgrade !== undefined) text += `connection: Upgrade\r\nupgrade: ${upgrade}\r\n`;
  return { head: `${text}\r\n`, length, isHead: method === 'HEAD', isUpgrade: upgrade !== undefined };
}
