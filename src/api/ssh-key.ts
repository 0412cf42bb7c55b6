import ssh2 from 'ssh2';

/** A private key that OpenSSH can read, or the reason why the text is none. `reason` never contains the text itself. */
export type KeyRead = { pem: string } | { reason: string };

const NO_KEY =
  'is no private SSH key; give the whole file, "-----BEGIN" and "-----END" lines too, as it is or in base64';
const LOCKED = 'is protected by a passphrase; give a key without one (ssh-keygen -p)';

/** Parses a key that is PEM or base64 of PEM. */
export function readPrivateKey(given: string): KeyRead {
  const text = given.trimStart().startsWith('-----BEGIN ')
    ? given
    : Buffer.from(given.replaceAll(/\s/g, ''), 'base64').toString('utf8');
  const pem = `${text.replaceAll('\r\n', '\n').trim()}\n`;
  if (!pem.startsWith('-----BEGIN ')) return { reason: NO_KEY };
  if (/^-----BEGIN ENCRYPTED /.test(pem)) return { reason: LOCKED };
  const parsed = ssh2.utils.parseKey(pem);
  if (parsed instanceof Error) {
    if (/encrypted|passphrase/i.test(parsed.message)) return { reason: LOCKED };
    return /BEGIN PRIVATE KEY/.test(pem)
      ? { reason: 'is in PKCS#8; convert it with: ssh-keygen -p -f <file>' }
      : { reason: NO_KEY };
  }
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  return key?.isPrivateKey() ? { pem } : { reason: 'is a public key; give the private one' };
}
