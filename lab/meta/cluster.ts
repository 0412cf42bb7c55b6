import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SECRETS, type Secret, secretText } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { annotations, kubeconfigSecretName } from '#api/names.ts';
import { isResultValue } from '#api/operation-values.ts';
import { createLogger } from '#base/log.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { parseKubeConfig } from '#runtime/kubeconfig/kube-config.ts';
import { labDir } from '../hosts/places.ts';
import type { Meta } from './meta.ts';

const NAMESPACE = 'default';

/** Resolves when the watched cluster satisfies `holds`. After `timeoutMs` it rejects with the cluster's state. */
export async function untilCluster(
  { client }: Pick<Meta, 'client'>,
  name: string,
  holds: (cluster: KubernetesCluster | undefined) => boolean,
  timeoutMs: number,
): Promise<KubernetesCluster | undefined> {
  const stop = new AbortController();
  const selection = { namespace: NAMESPACE, fieldSelector: `metadata.name=${name}` };
  const informer = createInformer<KubernetesCluster>({
    client,
    resource: KUBERNETES_CLUSTERS,
    selection,
    log: createLogger('silent'),
  });
  const running = informer.run(stop.signal);
  try {
    await informer.whenSynced();
    return await new Promise((resolve, reject) => {
      const check = () => {
        const cluster = informer.get({ namespace: NAMESPACE, name });
        if (holds(cluster)) resolve(cluster);
      };
      informer.addHandler({ add: check, update: check, delete: check });
      check();
      sleep(timeoutMs, undefined, { signal: stop.signal }).then(
        () =>
          reject(
            new Error(
              `${name} stands so after ${timeoutMs / 1000} s: ${JSON.stringify(informer.get({ namespace: NAMESPACE, name })?.status)}`,
            ),
          ),
        () => undefined,
      );
    });
  } finally {
    stop.abort(new Error('seen'));
    await running;
  }
}

const operationValue = (cluster: KubernetesCluster | undefined): string =>
  cluster?.metadata.annotations?.[annotations.operation] ?? '';

/** Resolves when the requested operation has succeeded; throws if it failed. */
export async function untilDone(
  meta: Pick<Meta, 'client'>,
  name: string,
  timeoutMs: number,
): Promise<KubernetesCluster> {
  const cluster = await untilCluster(meta, name, (one) => isResultValue(operationValue(one)), timeoutMs);
  if (!cluster) throw new Error(`${name} is gone`);
  if (!operationValue(cluster).endsWith('-finished')) {
    throw new Error(`${operationValue(cluster)}: ${cluster.status?.reason}: ${cluster.status?.message}`);
  }
  return cluster;
}

/** Returns the kubeconfig that the operator keeps for a cluster. */
export async function kubeconfigOf({ client }: Pick<Meta, 'client'>, name: string): Promise<string> {
  const secret = await client.get<Secret>(SECRETS, {
    namespace: NAMESPACE,
    name: kubeconfigSecretName(name),
  });
  const text = secretText(secret, 'value');
  if (text === undefined) throw new Error(`the kubeconfig of ${name} is empty`);
  return text;
}

/** Writes this kubeconfig to a file of the lab, for kubectl and other programs, and returns its path. */
export async function kubeconfigFile(meta: Pick<Meta, 'client'>, name: string): Promise<string> {
  const path = join(labDir, `${name}.kubeconfig`);
  await writeFile(path, await kubeconfigOf(meta, name), { mode: 0o600 });
  return path;
}

/** Returns a client of the cluster with this kubeconfig. */
export const clientOf = async (kubeconfig: string): Promise<Client> =>
  createClient(await parseKubeConfig(kubeconfig), { userAgent: 'matryoshka-lab' });

export interface NodeSeen extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Lists the names of a cluster's Ready nodes. */
export async function readyNodes(client: Client): Promise<string[]> {
  const nodes = await client.list<NodeSeen>({
    group: '',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    namespaced: false,
  });
  return nodes.items
    .filter(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    )
    .map(({ metadata }) => metadata.name ?? '')
    .sort();
}

/** Lists the names of a created cluster's Ready nodes, through its own kubeconfig. */
export async function readyNodesOf(meta: Pick<Meta, 'client'>, name: string): Promise<string[]> {
  const client = await clientOf(await kubeconfigOf(meta, name));
  try {
    return await readyNodes(client);
  } finally {
    await client.close();
  }
}
