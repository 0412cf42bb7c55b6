import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { inUrl } from '#api/host.ts';
import { readKubeconfig } from '#cluster-access/kubeconfig-text.ts';
import type { Kubeconfig } from './snapshot.ts';

const kubeconfigSchema = z.object({
  clusters: z
    .array(
      z.object({
        cluster: z.object({
          server: z.string().optional(),
          'certificate-authority-data': z.string().optional(),
        }),
      }),
    )
    .optional(),
  users: z.array(z.object({ user: z.object({ 'client-certificate-data': z.string().optional() }) })),
});

/**
 * Parses a kubeconfig; returns `missing` if it is not valid. If the text has them, the result includes server, certificate
 * authority and the expiry of the client certificate.
 */
export function kubeconfigIn(text: string): Kubeconfig {
  try {
    const { users, clusters } = kubeconfigSchema.parse(readKubeconfig(text));
    const data = users[0]?.user['client-certificate-data'];
    const { server, 'certificate-authority-data': authority } = clusters?.[0]?.cluster ?? {};
    return {
      kind: 'present',
      ...(data === undefined
        ? {}
        : { expires: new X509Certificate(Buffer.from(data, 'base64')).validToDate }),
      ...(server === undefined ? {} : { server }),
      ...(authority === undefined ? {} : { authority }),
    };
  } catch {
    return { kind: 'missing' };
  }
}

export const hasExpired = (kubeconfig: Kubeconfig, now: Date): boolean =>
  kubeconfig.kind === 'present' && kubeconfig.expires !== undefined && kubeconfig.expires <= now;

/** Whether the kubeconfig's server is one of these addresses. */
export function pointsTo(kubeconfig: Kubeconfig, addresses: readonly string[]): boolean {
  if (kubeconfig.kind !== 'present' || !kubeconfig.server || !URL.canParse(kubeconfig.server)) return false;
  return addresses.includes(new URL(kubeconfig.server).hostname.replace(/^\[|\]$/g, ''));
}

/** Returns the text with another address of the API servers; undefined if it names none. */
export function pointedAt(text: string, address: string): string | undefined {
  const kubeconfig = kubeconfigIn(text);
  if (kubeconfig.kind !== 'present' || !kubeconfig.server || !URL.canParse(kubeconfig.server))
    return undefined;
  const { port } = new URL(kubeconfig.server);
  return text.replaceAll(kubeconfig.server, `https://${inUrl(address)}:${port || '443'}`);
}

/**
 * Whether a run brought a kubeconfig with another authority: the control plane was created anew since this one was kept.
 * After a renewal, one whose certificate ends later counts too.
 */
export function isOutdated(
  kubeconfig: Kubeconfig,
  brought: string | undefined,
  now: Date,
  isRenewal = false,
): boolean {
  const fresh: Kubeconfig = brought === undefined ? { kind: 'missing' } : kubeconfigIn(brought);
  if (kubeconfig.kind !== 'present' || fresh.kind !== 'present' || hasExpired(fresh, now)) return false;
  if (isRenewal && fresh.expires && kubeconfig.expires && fresh.expires > kubeconfig.expires) return true;
  return [kubeconfig.authority, fresh.authority].every(Boolean) && kubeconfig.authority !== fresh.authority;
}

/** Whether the text is worth keeping. An invalid or expired kubeconfig would count as missing again at once. */
export function isUsable(text: string | undefined, now: Date): boolean {
  if (text === undefined) return false;
  const kubeconfig = kubeconfigIn(text);
  return kubeconfig.kind === 'present' && !hasExpired(kubeconfig, now);
}
