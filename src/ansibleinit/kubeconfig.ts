import { parse, stringify } from 'yaml';
import { z } from 'zod';
import type { SshConnection } from '#ssh/connection.ts';

const kubeconfigSchema = z.looseObject({
  clusters: z.array(z.looseObject({ name: z.string(), cluster: z.looseObject({ server: z.string() }) })),
});

/**
 * The kubeconfig as clients outside use it: the stable name of the endpoint is known to the cluster's hosts alone, so
 * the server is the address behind it; the certificate names both.
 */
export function forClients(kubeconfig: string, address: string): string {
  const config = kubeconfigSchema.parse(parse(kubeconfig));
  const host = address.includes(':') ? `[${address}]` : address;
  const clusters = config.clusters.map((entry) => ({
    ...entry,
    cluster: { ...entry.cluster, server: `https://${host}:6443` },
  }));
  return stringify({ ...config, clusters });
}

/** Reads the administrator's kubeconfig from a control plane host. */
export async function fetchKubeconfig(connection: SshConnection, address: string): Promise<string> {
  const { code, stdout, stderr } = await connection.run('cat /etc/kubernetes/admin.conf', {
    timeoutMs: 30_000,
  });
  if (code !== 0) throw new Error(`the kubeconfig could not be read: ${stderr.trim()}`);
  return forClients(stdout, address);
}
