import { X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import { knownHostsSecretName, kubeconfigSecretName, labels } from '#api/names.ts';
import type { Client } from '#runtime/client.ts';
import type { Kubeconfig } from './snapshot.ts';

const kubeconfigSchema = z.object({
  users: z.array(z.object({ user: z.object({ 'client-certificate-data': z.string().optional() }) })),
});

/** When the client certificate in a kubeconfig ends; undefined when it carries none. Throws on what is no kubeconfig. */
export function expiryOf(kubeconfig: string): Date | undefined {
  const data = kubeconfigSchema.parse(parse(kubeconfig)).users[0]?.user['client-certificate-data'];
  return data === undefined ? undefined : new X509Certificate(Buffer.from(data, 'base64')).validToDate;
}

/** The kubeconfig Secret of a cluster, in the cluster's own namespace; one that has ended counts as missing. */
export async function kubeconfigOf(
  client: Client,
  cluster: KubernetesCluster,
  now: Date,
): Promise<Kubeconfig> {
  const { namespace = '', name = '' } = cluster.metadata;
  const text = secretText(
    await client.find<Secret>(SECRETS, { namespace, name: kubeconfigSecretName(name) }),
    'value',
  );
  if (text === undefined) return { kind: 'missing' };
  try {
    const expires = expiryOf(text);
    if (expires === undefined) return { kind: 'present' };
    return expires.getTime() <= now.getTime() ? { kind: 'missing' } : { kind: 'present', expires };
  } catch {
    return { kind: 'missing' };
  }
}

/** Writes a Secret of a cluster, owned by it, whatever stood there before. */
async function keep(client: Client, cluster: KubernetesCluster, name: string, texts: Record<string, string>) {
  const { uid = '', namespace = '', name: owner = '' } = cluster.metadata;
  const secret: Secret = {
    metadata: {
      namespace,
      name,
      labels: { [labels.purpose]: 'access' },
      ownerReferences: [
        { apiVersion: `${KUBERNETES_CLUSTERS.group}/v1`, kind: 'KubernetesCluster', name: owner, uid },
      ],
    },
    data: secretData(texts),
  };
  await client.apply<Secret>(SECRETS, secret, { fieldManager: 'matryoshka', force: true });
}

export const keepKubeconfig = (
  client: Client,
  cluster: KubernetesCluster,
  kubeconfig: string,
): Promise<void> =>
  keep(client, cluster, kubeconfigSecretName(cluster.metadata.name ?? ''), { value: kubeconfig, kubeconfig });

export const keepKnownHosts = (client: Client, cluster: KubernetesCluster, lines: string): Promise<void> =>
  keep(client, cluster, knownHostsSecretName(cluster.metadata.name ?? ''), { known_hosts: lines });
