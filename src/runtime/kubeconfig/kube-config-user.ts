import { X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import type { Headers, TlsMaterial } from '../wire/endpoint.ts';
import { fileContent } from './file-content.ts';
import { type Record_, text } from './kube-config-fields.ts';

/** Directory of files that a kubeconfig names, and the clock for reading them again. */
export interface Files {
  directory: string;
  clock: Clock;
}

/** Returns PEM text: from base64 in the kubeconfig, or from a named file that may be rotated. */
function pem(
  of: Record_,
  name: string,
  at: string,
  files: Files,
): { read: () => string; forget: () => void } | undefined {
  const data = text(of, `${name}-data`, at);
  if (data !== undefined) {
    const decoded = Buffer.from(data, 'base64').toString('utf8');
    if (!decoded.includes('-----BEGIN')) throw new Error(`${at}: ${name}-data holds no PEM`);
    return { read: () => decoded, forget() {} };
  }
  const path = text(of, name, at);
  if (path === undefined) return undefined;
  const file = fileContent(resolve(files.directory, path), `${at}: ${name}`, { clock: files.clock });
  const read = () => {
    const content = file.read();
    if (!content.includes('-----BEGIN')) throw new Error(`${at}: ${name} (${path}) holds no PEM`);
    return content;
  };
  return { read, forget: file.forget };
}

/** Returns the material of connections: the cluster's CA, the user's certificate. `refresh` reads the files again. */
export function materialOf(
  {
    cluster,
    clusterName,
    user,
    userName,
  }: { cluster: Record_; clusterName: string; user: Record_; userName: string },
  files: Files,
): { tls: () => TlsMaterial; refresh: () => void } {
  const at = `cluster '${clusterName}'`;
  const of = `user '${userName}'`;
  const ca = pem(cluster, 'certificate-authority', at, files);
  const cert = pem(user, 'client-certificate', of, files);
  const key = pem(user, 'client-key', of, files);
  if (cert && !key) throw new Error(`${of} has a client-certificate but no client-key`);
  if (key && !cert) throw new Error(`${of} has a client-key but no client-certificate`);
  const insecure = cluster['insecure-skip-tls-verify'] === true;
  if (insecure && ca)
    throw new Error(`${at}: certificate-authority and insecure-skip-tls-verify exclude each other`);
  const servername = text(cluster, 'tls-server-name', at);
  return {
    tls: () => ({
      ca: checked(ca?.read(), `${at}: certificate-authority`),
      cert: checked(cert?.read(), `${of}: client-certificate`),
      key: key?.read(),
      servername,
      ...(insecure ? { rejectUnauthorized: false } : {}),
    }),
    refresh() {
      for (const file of [ca, cert, key]) file?.forget();
    },
  };
}

/** Throws upon a certificate or key that OpenSSL would later refuse with a message that names no field. */
function checked(certificate: string | undefined, what: string): string | undefined {
  if (certificate === undefined) return undefined;
  try {
    new X509Certificate(certificate);
  } catch (error) {
    throw new Error(`${what} is no certificate: ${messageOf(error)}`);
  }
  return certificate;
}

/** Returns authorization and impersonation headers of a user without plugins. */
export function userHeaders(
  user: Record_,
  userName: string,
  files: Files,
): { headers: () => Headers; refresh: () => void } {
  const at = `user '${userName}'`;
  if (text(user, 'username', at))
    throw new Error(`${at}: Kubernetes no longer supports basic authentication`);
  const path = text(user, 'tokenFile', at);
  const file =
    path === undefined
      ? undefined
      : fileContent(resolve(files.directory, path), `${at}: tokenFile`, { clock: files.clock });
  const token = text(user, 'token', at);
  const as = text(user, 'as', at);
  return {
    headers() {
      // The file takes precedence, as in client-go, because it is the one that is rotated.
      const bearer = file?.read() ?? token;
      return {
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(as === undefined ? {} : { 'impersonate-user': as }),
      };
    },
    refresh: () => file?.forget(),
  };
}
