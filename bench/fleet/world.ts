import { LEASES, SECRETS, type Secret, secretData } from '#api/core.ts';
import { KUBERNETES_CLUSTERS, type KubernetesCluster } from '#api/kubernetes-cluster.ts';
import type { KubeObject } from '#api/meta.ts';
import { annotations } from '#api/names.ts';
import { createLogger } from '#base/log.ts';
import { keyPair } from '#base/testing/key-pair.ts';
import { installCrds } from '#lab/apiserver/crds.ts';
import { NAMESPACES } from '#lab/apiserver/kinds.ts';
import { startApiServer } from '#lab/apiserver/start.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import { createInformer } from '#runtime/cache/informer.ts';
import { type Client, createClient } from '#runtime/client/client.ts';
import { loadEndpoint } from '#runtime/kubeconfig/kube-config.ts';

export const OPERATOR_NAMESPACE = 'matryoshka-system';
const AT_ONCE = 16;

/** Starts an API server with our CRD, and a separate client for the bench. */
export async function startWorld(say: Say) {
  const server = await startApiServer({ say });
  const client = createClient(await loadEndpoint({ kubeconfig: server.kubeconfigPath }), {
    userAgent: 'matryoshka-bench',
  });
  await client.create(NAMESPACES, { metadata: { name: OPERATOR_NAMESPACE } });
  await installCrds(client);
  const keys: Secret = {
    metadata: { namespace: 'default', name: 'keys' },
    data: secretData({ username: 'root', 'ssh-privatekey': keyPair().private }),
  };
  await client.create(SECRETS, keys);
  const clusters = await watched(client);
  return {
    client,
    server,
    clusters,
    stop: async () => {
      await clusters.stop();
      await client.close();
      await server.stop();
    },
  };
}

/** Creates clusters of one control plane and one worker each, all at once, with 16 requests at a time. */
export async function createClusters(client: Client, first: number, count: number): Promise<void> {
  let next = first;
  const worker = async () => {
    while (next < first + count) {
      const index = next++;
      const ip = (host: number) =>
        `10.${128 + Math.floor(index / 62_500)}.${Math.floor(index / 120) % 250}.${(index % 120) * 2 + host}`;
      const cluster: KubernetesCluster = {
        metadata: {
          namespace: 'default',
          name: `cluster-${index}`,
          annotations: { [annotations.operation]: 'creating' },
        },
        spec: {
          cluster: {
            masterList: [{ ip: ip(1) }],
            nodeList: [{ ip: ip(2) }],
            podCIDR: '172.16.0.0/16',
            serviceCIDR: '172.17.0.0/16',
            credentialsSecret: 'keys',
          },
        },
      };
      await client.create(KUBERNETES_CLUSTERS, cluster);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Measures the server alone: writes a second of one kind, 16 at once. */
export async function writeRate(client: Client, count: number): Promise<number> {
  let next = 0;
  const began = performance.now();
  const worker = async () => {
    while (next < count) {
      const lease: KubeObject = { metadata: { namespace: 'default', name: `rate-${next++}` } };
      await client.create(LEASES, lease);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return count / ((performance.now() - began) / 1_000);
}

async function watched(client: Client) {
  const stop = new AbortController();
  let check = () => {};
  const informer = createInformer<KubernetesCluster>({
    client,
    log: createLogger('error'),
    resource: KUBERNETES_CLUSTERS,
  });
  let running = 0;
  const isDone = ({ metadata, status }: KubernetesCluster) =>
    status?.phase === 'Running' && metadata.annotations?.[annotations.operation] === 'create-finished';
  informer.addHandler({
    add: (after) => {
      if (isDone(after)) running += 1;
      check();
    },
    update: (before, after) => {
      running += Number(isDone(after)) - Number(isDone(before));
      check();
    },
  });
  const ended = informer.run(stop.signal);
  await informer.whenSynced();
  const until = (what: string, holds: () => boolean, ms: number) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${what}: not within ${ms / 1000} s; ${running} of ${informer.size} run`)),
        ms,
      );
      check = () => {
        if (!holds()) return;
        clearTimeout(timer);
        check = () => {};
        resolve();
      };
      check();
    });
  return {
    /** Resolves when this number of clusters is created and their requests are finished. */
    running: (count: number, ms: number) => until(`${count} Running`, () => running >= count, ms),
    /** Resolves when the operator has accepted the request of that cluster. */
    accepted: (name: string, ms: number) =>
      until(
        `${name} accepted`,
        () => informer.get({ namespace: 'default', name })?.status?.operation !== undefined,
        ms,
      ),
    stop: async () => {
      stop.abort(new Error('done'));
      await ended;
    },
  };
}
