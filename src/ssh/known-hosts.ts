/** Host keys as known_hosts writes them (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT); hashed names are not read. */

/** The name under which a host stands: with its port unless that is 22. */
const knownHostName = (host: string, port: number): string => (port === 22 ? host : `[${host}]:${port}`);

/** The key type that an SSH public key blob (RFC 4253, 6.6) names in its first string. */
export const keyTypeOf = (key: Buffer): string => key.subarray(4, 4 + key.readUInt32BE(0)).toString('ascii');

export const knownHostLine = (host: string, port: number, key: Buffer): string =>
  `${knownHostName(host, port)} ${keyTypeOf(key)} ${key.toString('base64')}`;

/** The keys that are pinned for a host, by type; empty when it was never seen. */
export function pinnedKeys(knownHosts: string, host: string, port: number): Map<string, string> {
  const name = knownHostName(host, port);
  const keys = new Map<string, string>();
  for (const line of knownHosts.split('\n')) {
    const [names, type, key] = line.trim().split(/\s+/);
    if (names !== undefined && type !== undefined && key !== undefined && names.split(',').includes(name)) {
      keys.set(type, key);
    }
  }
  return keys;
}
