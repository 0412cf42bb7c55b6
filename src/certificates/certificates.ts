import 'reflect-metadata';
import { createPrivateKey, type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 60 * 60_000;
const CA_DAYS = 3650;
const SERVER_DAYS = 365;
/** A certificate with less than this left is made anew. */
const RENEW_WITHIN_MS = 60 * DAY_MS;

export interface KeyPair {
  cert: string;
  key: string;
}

/** The validity of a certificate. */
interface Validity {
  notBefore: Date;
  notAfter: Date;
}

/** A validity that began an hour ago, since clocks differ. */
const validFor = (ms: number, now = Date.now()): Validity => ({
  notBefore: new Date(now - 3_600_000),
  notAfter: new Date(now + ms),
});

const pem = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

/** An authority of our own, for the server's and the webhook's certificate alone. */
export async function createAuthority(): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=matryoshka',
    keys,
    ...validFor(CA_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return { cert: cert.toString('pem'), key: await pem(keys.privateKey) };
}

/** A server certificate for these names and addresses, signed by the authority. */
export async function createServerCertificate(
  authority: KeyPair,
  names: readonly string[],
  ips: readonly string[],
  validity = validFor(SERVER_DAYS * DAY_MS),
): Promise<KeyPair> {
  const ca = new x509.X509Certificate(authority.cert);
  // The chart writes keys as "EC PRIVATE KEY" (RFC 5915), bootstrap as PKCS#8.
  const signingKey = await crypto.subtle.importKey(
    'pkcs8',
    createPrivateKey(authority.key).export({ type: 'pkcs8', format: 'der' }),
    ALGORITHM,
    false,
    ['sign'],
  );
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.create({
    subject: `CN=${names[0] ?? 'matryoshka-server'}`,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey,
    ...validity,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...names.map((value) => ({ type: 'dns' as const, value })),
        ...ips.map((value) => ({ type: 'ip' as const, value })),
      ]),
    ],
  });
  return { cert: cert.toString('pem'), key: await pem(keys.privateKey) };
}

/** Whether a certificate still serves: long enough, and for all of these names. */
export function stillServes(cert: string, names: readonly string[]): boolean {
  const parsed = new x509.X509Certificate(cert);
  const extension = parsed.getExtension(x509.SubjectAlternativeNameExtension);
  const known = new Set(extension?.names.items.map(({ value }) => value));
  return parsed.notAfter.getTime() - Date.now() > RENEW_WITHIN_MS && names.every((name) => known.has(name));
}

/** The time to renew a certificate: with a third of its life left, so that the old one serves long enough. */
export function renewalOf(cert: string): Date {
  const { notBefore, notAfter } = new x509.X509Certificate(cert);
  return new Date(notAfter.getTime() - (notAfter.getTime() - notBefore.getTime()) / 3);
}

/**
 * A certificate for the same names and for as long as the present one, but not longer than its authority. Undefined
 * if that gains nothing, and if the present one is of another authority: its owner renews it.
 */
export async function renewed(authority: KeyPair, cert: string, now: Date): Promise<KeyPair | undefined> {
  const [ca, present] = [new x509.X509Certificate(authority.cert), new x509.X509Certificate(cert)];
  if (!(await present.verify({ publicKey: ca.publicKey, signatureOnly: true }))) return undefined;
  const lifeMs = present.notAfter.getTime() - present.notBefore.getTime();
  const notAfter = new Date(Math.min(now.getTime() + lifeMs, ca.notAfter.getTime()));
  if (notAfter <= present.notAfter) return undefined;
  const items = present.getExtension(x509.SubjectAlternativeNameExtension)?.names.items ?? [];
  const of = (wanted: string) => items.filter(({ type }) => type === wanted).map(({ value }) => value);
  return createServerCertificate(authority, of('dns'), of('ip'), { notBefore: now, notAfter });
}
