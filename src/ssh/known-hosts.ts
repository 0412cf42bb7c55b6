import { createHmac } from 'node:crypto';

/** Parses host keys in the format of known_hosts (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT). */

/** Returns the name of a host in known_hosts: with its port unless that is 22. */
const knownHostName = (host: string, port: number): string => (port === 22 ? host : `[${host}]:${port}`);

/** Returns the key type, which is the first string of an SSH public key blob (RFC 4253, 6.6). */
export const keyTypeOf = (key: Buffer): string => key.subarray(4, 4 + key.readUInt32BE(0)).toString('ascii');

export const knownHostLine = (host: string, port: number, key: Buffer): string =>
  `${knownHostName(host, port)} ${keyTypeOf(key)} ${key.toString('base64')}`;

/** Entries of known_hosts for a host; both are empty for an unknown host. */
export interface Pins {
  /** Keys in base64 by type. */
  pinned: Map<string, Set<string>>;
  revoked: Set<string>;
}

/**
 * Returns the pins of a host, by plain and hashed names and by patterns. Throws with the line if a line for the host is
 * invalid, because its key must not be trusted at first sight then.
 */
export function pinsOf(knownHosts: string, host: string, port: number): Pins {
  const name = knownHostName(host, port);
  const pins: Pins = { pinned: new Map(), revoked: new Set() };
  for (const [index, line] of knownHosts.split('\n').entries()) {
    const where = `line ${index + 1} of known_hosts`;
    const fields = line.trim().split(/\s+/);
    const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
    const [names = '', type = '', key = ''] = fields;
    if (names === '' || names.startsWith('#') || !concerns(names, name, where)) continue;
    if (marker !== undefined && marker !== '@revoked')
      throw new Error(`${where} has ${marker}, which is not supported; give the key of ${host} itself`);
    if (!isKeyOf(type, key)) throw new Error(`${where} has no public key for ${host}`);
    if (marker === '@revoked') pins.revoked.add(key);
    else pins.pinned.set(type, (pins.pinned.get(type) ?? new Set()).add(key));
  }
  return pins;
}

function isKeyOf(type: string, key: string): boolean {
  const blob = Buffer.from(key, 'base64');
  return blob.length > 4 && blob.toString('base64') === key && keyTypeOf(blob) === type;
}

/** Whether a line's first field matches the host: a hash of its name, or patterns of which one matches and no `!` one. */
function concerns(names: string, name: string, where: string): boolean {
  if (names.startsWith('|')) return isHashOf(names, name, where);
  const patterns = names.split(',');
  if (patterns.some((pattern) => pattern.startsWith('!') && matches(pattern.slice(1), name))) return false;
  return patterns.some((pattern) => matches(pattern, name));
}

function isHashOf(field: string, name: string, where: string): boolean {
  const [, magic, salt, hash] = field.split('|');
  if (magic !== '1' || salt === undefined || hash === undefined)
    throw new Error(`${where} has a hashed name of an unknown kind`);
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === hash;
}

/** Whether a pattern with `*` and `?` matches (ssh_config(5), PATTERNS); names of hosts are lower case there. */
function matches(pattern: string, name: string): boolean {
  const text = pattern
    .toLowerCase()
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${text}$`).test(name.toLowerCase());
}
