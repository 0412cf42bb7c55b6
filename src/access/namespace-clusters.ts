import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { Client } from '#runtime/client/client.ts';

const PAGE = 500;

/** Returns every cluster of a namespace. */
export async function clustersOf(client: Client, namespace: string): Promise<KubernetesCluster[]> {
  const found: KubernetesCluster[] = [];
  let from: string | undefined;
  do {
    const page = await client.list<KubernetesCluster>(KUBERNETES_CLUSTERS, {
      namespace,
      limit: PAGE,
      continue: from,
    });
    found.push(...page.items);
    from = page.metadata.continue || undefined;
  } while (from !== undefined);
  return found;
}
