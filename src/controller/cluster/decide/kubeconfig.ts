import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { readKubeconfig } from './kubeconfig-text.ts';
import type { Kubeconfig } from './snapshot.ts';

const kubeconfigSchema = z.object({
  clusters: z.array(z.object({ cluster: z.object({ server: z.string().optional() }) })).optional(),
  users: z.array(z.object({ user: z.object({ 'client-certificate-data': z.string().optional() }) })),
});

/** What a text is as a kubeconfig: with its server, and the end of its client certificate, if it carries them; what is none is missing. */
export function kubeconfigIn(text: string): Kubeconfig {
  try {
    const { users, clusters } = kubeconfigSchema.parse(readKubeconfig(text));
    const data = users[0]?.user['client-certificate-data'];
    const server = clusters?.[0]?.cluster.server;
    return {
      kind: 'present',
      ...(data === undefined
        ? {}
        : { expires: new X509Certificate(Buffer.from(data, 'base64')).validToDate }),
      ...(server === undefined ? {} : { server }),
    };
  } catch {
    return { kind: 'missing' };
  }
}

export const hasExpired = (kubeconfig: Kubeconfig, now: Date): boolean =>
  kubeconfig.kind === 'present' && kubeconfig.expires !== undefined && kubeconfig.expires <= now;

/** Whether it leads to one of these addresses. */
export function leadsTo(kubeconfig: Kubeconfig, addresses: readonly string[]): boolean {
  if (kubeconfig.kind !== 'present' || !kubeconfig.server || !URL.canParse(kubeconfig.server)) return false;
  return addresses.includes(new URL(kubeconfig.server).hostname.replace(/^\[|\]$/g, ''));
}

/** Whether it is worth keeping: what is none, or has ended, would count as missing again at once. */
export function isUsable(text: string | undefined, now: Date): boolean {
  if (text === undefined) return false;
  const kubeconfig = kubeconfigIn(text);
  return kubeconfig.kind === 'present' && !hasExpired(kubeconfig, now);
}
