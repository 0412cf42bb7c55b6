import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** Why a TLS server cannot show that certificate (with its chain) with that key, both PEM; undefined: it can. */
export function problemOfPair(pair: {
  cert: string | undefined;
  key: string | undefined;
}): string | undefined {
  const { cert, key } = pair;
  if (cert === undefined || cert === '') return 'it has no tls.crt';
  if (key === undefined || key === '') return 'it has no tls.key';
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return 'tls.crt is no certificate in PEM';
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return 'tls.key is not the key of tls.crt';
  } catch {
    // The parser's own words may hold a part of the key.
    return 'tls.key is no private key in PEM';
  }
  try {
    // The level of Debian's OpenSSL, which HAProxy has: a key of 1,024 bits is too short, for instance.
    createSecureContext({ cert, key, ciphers: 'DEFAULT@SECLEVEL=2' });
    return undefined;
  } catch {
    return 'OpenSSL refuses the certificate or the key, for example because the key is too short';
  }
}
