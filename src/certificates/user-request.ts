import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** A certificate request and its private key, both as PEM. */
export interface UserRequest {
  request: string;
  key: string;
}

/** Creates a key and a request for a certificate of a user (kubernetes.io, X509 client certificates: CN and O). */
export async function createUserRequest(name: string, groups: readonly string[]): Promise<UserRequest> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  // As a list of parts: the text of a name would need escapes.
  const subject = [{ CN: [name] }, ...groups.map((group) => ({ O: [group] }))];
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys,
    signingAlgorithm: ALGORITHM,
  });
  const key = x509.PemConverter.encode(
    await crypto.subtle.exportKey('pkcs8', keys.privateKey),
    'PRIVATE KEY',
  );
  return { request: request.toString('pem'), key };
}
