import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads tls.crt and tls.key of a directory (the keys of a kubernetes.io/tls Secret). Throws if a file is missing or the key
 * does not fit: OpenSSL accepts such a pair and then fails every handshake.
 */
export function readPair(certDir: string): { cert: string; key: string } {
  const cert = readFileSync(join(certDir, 'tls.crt'), 'utf8');
  const key = readFileSync(join(certDir, 'tls.key'), 'utf8');
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error(`${certDir}: tls.key is not the key of tls.crt`);
  return { cert, key };
}
