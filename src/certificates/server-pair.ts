import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** HAProxy reads a pair in one buffer. */
const MAX_PAIR = 15_000;
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Returns a pair as its certificates and its key alone, without what else stands in the files: lines between them, other
 * keys, comments. Throws where one cannot be read.
 */
export function plainPair({ cert, key }: { cert: string; key: string }): { cert: string; key: string } {
  const chain = (cert.match(CERTIFICATES) ?? []).map((one) => new X509Certificate(one).toString().trim());
  return {
    cert: `${chain.join('\n')}\n`,
    key: `${createPrivateKey(key).export({ type: 'pkcs8', format: 'pem' })}`,
  };
}

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
    const plain = plainPair({ cert, key });
    createSecureContext({ ...plain, ciphers: 'DEFAULT@SECLEVEL=2' });
    if (plain.cert.length + plain.key.length <= MAX_PAIR) return undefined;
    return `certificates and key have more than ${MAX_PAIR} characters; leave out what clients do not need of the chain`;
  } catch {
    return 'OpenSSL refuses the certificate or the key, for example because the key is too short';
  }
}
