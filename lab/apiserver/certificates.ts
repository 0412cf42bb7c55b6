import 'reflect-metadata';
import { generateKeyPairSync } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** Certificates of a bare API server. It serves with `cert` and `key`, clients trust `ca`, `signingKey` signs tokens. */
export interface ServerCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly signingKey: string;
  readonly signingKeyPublic: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 60 * 60_000;

/** The certificate and key of a server, as PEM. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A CA with certificate `pem`, which issues certificates for loopback. */
export interface Authority {
  readonly pem: string;
  /**
   * Issues a certificate. By default it is for 127.0.0.1, and valid from yesterday for a month, longer than any test run.
   */
  issue(validity?: { notBefore: Date; notAfter: Date }, ips?: readonly string[]): Promise<ServerCertificate>;
}

const fromYesterday = () => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 30 * DAY_MS),
});

export async function createAuthority(): Promise<Authority> {
  const caKeys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=matryoshka-lab',
    keys: caKeys,
    ...fromYesterday(),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  return {
    pem: ca.toString('pem'),
    async issue(validity = fromYesterday(), ips = ['127.0.0.1']) {
      const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const cert = await x509.X509CertificateGenerator.create({
        subject: 'CN=kube-apiserver',
        issuer: ca.subject,
        publicKey: keys.publicKey,
        signingKey: caKeys.privateKey,
        ...validity,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          new x509.SubjectAlternativeNameExtension([
            ...ips.map((value) => ({ type: 'ip' as const, value })),
            { type: 'dns', value: 'localhost' },
          ]),
        ],
      });
      const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
      return { cert: cert.toString('pem'), key: x509.PemConverter.encode(key, 'PRIVATE KEY') };
    },
  };
}

/** Creates a CA, a certificate for loopback, and keys that sign tokens. */
export async function createServerCertificates(): Promise<ServerCertificates> {
  const authority = await createAuthority();
  const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ca: authority.pem,
    ...(await authority.issue()),
    signingKey: signing.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    signingKeyPublic: signing.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}
