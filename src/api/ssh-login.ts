import { type Secret, secretPassword, secretText } from './core.ts';
import { readPrivateKey } from './ssh-key.ts';

/** The SSH credentials in a Secret. */
export interface SshLogin {
  username: string;
  privateKey: string | undefined;
  password: string | undefined;
}

const KEY = 'ssh-privatekey';

/**
 * Parses the SSH credentials of a Secret. Files often end with a newline, and keys from Windows have CRLF: neither is part
 * of the credentials. Returns the reason if the key cannot be used; the reason never contains the key.
 */
export function sshLoginIn(secret: Secret): SshLogin | { reason: string } {
  const text = secretText(secret, KEY)?.trim() ?? '';
  const key = text === '' ? undefined : readPrivateKey(text);
  if (key && 'reason' in key) return { reason: `${KEY} ${key.reason}` };
  return {
    // The username defaults to root, never to the previous Secret's.
    username: secretText(secret, 'username')?.trim() || 'root',
    privateKey: key?.pem,
    password: secretPassword(secret),
  };
}
