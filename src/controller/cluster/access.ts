import { X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { SECRETS, type Secret, secretData, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { ObjectKey } from '#api/meta.ts';
import { knownHostsSecretName, kubeconfigSecretName, labels } from '#api/names.ts';
import { canonicalJson } from '#base/canonical.ts';
import type { Clock } from '#base/clock.ts';
import type { Client } from '#runtime/client.ts';
import { textOf } from './anchors.ts';
import { keepObject } from './keep.ts';
import type { Kubeconfig } from './snapshot.ts';

const kubeconfigSchema = z.object({
  users: z.array(z.object({ user: z.object({ 'client-certificate-data': z.string().optional() }) })),
});

/** When the client certificate in a kubeconfig ends; undefined when it carries none. Throws on what is no kubeconfig. */
export function expiryOf(kubeconfig: string): Date | undefined {
  const data = kubeconfigSchema.parse(parse(kubeconfig)).users[0]?.user['client-certificate-data'];
  return data === undefined ? undefined : new X509Certificate(Buffer.from(data, 'base64')).validToDate;
}

/** What is known of the kubeconfig Secrets, which lie in namespaces that are not watched. */
export interface Kubeconfigs {
  /** In the cluster's own namespace; one that has ended counts as missing. */
  of(client: Client, cluster: KubernetesCluster, now: Date): Promise<Kubeconfig>;
  forget(key: ObjectKey): void;
}

/** How long one that was there counts as there, while nobody touches the object: shorter than the room's resync. */
const KEPT_MS = 300_000;

export function createKubeconfigs(clock: Clock): Kubeconfigs {
  const seen = new Map<string, { touched: string; atMs: number; kubeconfig: Kubeconfig }>();
  return {
    async of(client, cluster, now) {
      const { namespace = '', name: own = '' } = cluster.metadata;
      const touched = touchOf(cluster);
      const name = textOf({ namespace, name: own });
      const atMs = clock.monotonicMs();
      const known = seen.get(name);
      if (known?.touched === touched && atMs < known.atMs + KEPT_MS && !hasExpired(known.kubeconfig, now))
        return known.kubeconfig;
      seen.delete(name);
      const found = await read(client, cluster);
      const kubeconfig: Kubeconfig = hasExpired(found, now) ? { kind: 'missing' } : found;
      if (kubeconfig.kind === 'present') seen.set(name, { touched, atMs, kubeconfig });
      return kubeconfig;
    },
    forget: (key) => void seen.delete(textOf(key)),
  };
}

/** What changes when somebody touches the object, and not when we write its status. */
const touchOf = ({ metadata: { generation, labels: marked, annotations } }: KubernetesCluster): string =>
  canonicalJson([generation, marked, annotations]);

const hasExpired = (kubeconfig: Kubeconfig, now: Date): boolean =>
  kubeconfig.kind === 'present' && kubeconfig.expires !== undefined && kubeconfig.expires <= now;

async function read(client: Client, cluster: KubernetesCluster): Promise<Kubeconfig> {
  const { namespace = '', name = '' } = cluster.metadata;
  const text = secretText(
    await client.find<Secret>(SECRETS, { namespace, name: kubeconfigSecretName(name) }),
    'value',
  );
  if (text === undefined) return { kind: 'missing' };
  try {
    const expires = expiryOf(text);
    return expires === undefined ? { kind: 'present' } : { kind: 'present', expires };
  } catch {
    return { kind: 'missing' };
  }
}

/** Writes a Secret of a cluster, owned by it, whatever stood there before. */
async function keep(client: Client, cluster: KubernetesCluster, name: string, texts: Record<string, string>) {
  const { uid = '', namespace = '', name: owner = '' } = cluster.metadata;
  const secret = {
    metadata: {
      namespace,
      name,
      labels: { [labels.purpose]: 'access' },
      ownerReferences: [
        { apiVersion: `${KUBERNETES_CLUSTERS.group}/v1`, kind: 'KubernetesCluster', name: owner, uid },
      ],
    },
    data: secretData(texts),
  } satisfies Secret;
  await keepObject(client, SECRETS, secret, false);
}

export const keepKubeconfig = (
  client: Client,
  cluster: KubernetesCluster,
  kubeconfig: string,
): Promise<void> =>
  keep(client, cluster, kubeconfigSecretName(cluster.metadata.name ?? ''), { value: kubeconfig, kubeconfig });

export const keepKnownHosts = (client: Client, cluster: KubernetesCluster, lines: string): Promise<void> =>
  keep(client, cluster, knownHostsSecretName(cluster.metadata.name ?? ''), { known_hosts: lines });
