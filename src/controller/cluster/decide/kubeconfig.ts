import { X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Kubeconfig } from './snapshot.ts';

const kubeconfigSchema = z.object({
  users: z.array(z.object({ user: z.object({ 'client-certificate-data': z.string().optional() }) })),
});

/** What a text is as a kubeconfig: with the end of its client certificate, if it carries one; what is none is missing. */
export function kubeconfigIn(text: string): Kubeconfig {
  try {
    const data = kubeconfigSchema.parse(parse(text)).users[0]?.user['client-certificate-data'];
    if (data === undefined) return { kind: 'present' };
    return { kind: 'present', expires: new X509Certificate(Buffer.from(data, 'base64')).validToDate };
  } catch {
    return { kind: 'missing' };
  }
}

export const hasExpired = (kubeconfig: Kubeconfig, now: Date): boolean =>
  kubeconfig.kind === 'present' && kubeconfig.expires !== undefined && kubeconfig.expires <= now;

/** Whether it is worth keeping: what is none, or has ended, would count as missing again at once. */
export function isUsable(text: string | undefined, now: Date): boolean {
  if (text === undefined) return false;
  const kubeconfig = kubeconfigIn(text);
  return kubeconfig.kind === 'present' && !hasExpired(kubeconfig, now);
}
