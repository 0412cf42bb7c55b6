import 'reflect-metadata';
import { generateKeyPairSync } from 'node:crypto';
import * as x509 from '@peculiar/x509';

/** What a bare API server needs: it serves with `cert` and `key`; clients trust `ca`; tokens are signed with `signingKey`. */
export interface ServerCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly signingKey: string;
  readonly signingKeyPublic: string;
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 60 * 60_000;

/** A fresh authority and a certificate for loopback, valid for as long as a test run can last. */
export async function createServerCertificates(): Promise<ServerCertificates> {
  const notBefore = new Date(Date.now() - DAY_MS);
  const notAfter = new Date(Date.now() + 30 * DAY_MS);
  const caKeys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=matryoshka-lab',
    keys: caKeys,
    notBefore,
    notAfter,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const cert = await x509.X509CertificateGenerator.create({
    subject: 'CN=kube-apiserver',
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    notBefore,
    notAfter,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        { type: 'dns', value: 'localhost' },
      ]),
    ],
  });
  const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    ca: ca.toString('pem'),
    cert: cert.toString('pem'),
    key: x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
    signingKey: signing.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    signingKeyPublic: signing.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}
