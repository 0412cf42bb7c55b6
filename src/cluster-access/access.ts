import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { readKubeconfig } from './kubeconfig-text.ts';

/** The TLS material and credentials of a connection to an API server, all from the kubeconfig's own text. */
export interface Access {
  /** The only certificate authorities that count, as PEM. */
  ca: string;
  cert?: string | undefined;
  key?: string | undefined;
  token?: string | undefined;
  /** When `cert` expires. */
  certificateEnds?: Date | undefined;
}

/** Larger keys would block the event loop at each handshake. */
const MAX_KEY_BITS = 4096;

/**
 * The fields that are read of a kubeconfig. The Secret is in the user's namespace, and the user can edit it. The user
 * decides neither the address, nor the server name, nor whether certificates are verified; plugins, files and proxies are
 * ignored.
 */
const kubeconfigSchema = z.object({
  'current-context': z.string(),
  contexts: z.array(
    z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(
    z.object({
      name: z.string(),
      cluster: z.object({ 'certificate-authority-data': z.base64().min(1).optional() }),
    }),
  ),
  users: z.array(
    z.object({
      name: z.string(),
      user: z.object({
        'client-certificate-data': z.base64().optional(),
        'client-key-data': z.base64().optional(),
        // The characters that an HTTP header accepts.
        token: z
          .string()
          .regex(/^[\w.~+/=-]+$/)
          .optional(),
      }),
    }),
  ),
});

/**
 * Returns the credentials in a kubeconfig; undefined if they are not complete in its text. Never throws, because an error
 * message could contain a secret.
 */
export function accessIn(text: string): Access | undefined {
  try {
    const config = kubeconfigSchema.parse(readKubeconfig(text));
    const byName = <T extends { name: string }>(list: readonly T[], name: string | undefined) =>
      list.find((one) => one.name === name);
    const context = byName(config.contexts, config['current-context'])?.context;
    const authority = byName(config.clusters, context?.cluster)?.cluster['certificate-authority-data'];
    const user = byName(config.users, context?.user)?.user;
    if (authority === undefined || !user) return undefined;
    const ca = decoded(authority);
    // Without a readable authority, the system's authorities would count.
    new X509Certificate(ca);
    const { token, 'client-certificate-data': certificate, 'client-key-data': privateKey } = user;
    if (certificate !== undefined && privateKey !== undefined)
      return { ca, ...pair(decoded(certificate), decoded(privateKey)) };
    return token === undefined ? undefined : { ca, token };
  } catch {
    return undefined;
  }
}

const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

/** Throws if certificate and key do not belong together. */
function pair(cert: string, key: string): Pick<Access, 'cert' | 'key' | 'certificateEnds'> {
  const certificate = new X509Certificate(cert);
  const privateKey = createPrivateKey(key);
  const { modulusLength = 0 } = privateKey.asymmetricKeyDetails ?? {};
  if (modulusLength > MAX_KEY_BITS || !certificate.checkPrivateKey(privateKey))
    throw new Error('certificate and key do not fit');
  return { cert, key, certificateEnds: certificate.validToDate };
}
